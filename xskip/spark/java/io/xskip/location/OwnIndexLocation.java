package io.xskip.location;

import io.xskip.common.SkippingSettings;

/** A file index that knows where the index of its files is. */
public interface OwnIndexLocation {
  /** Returns the location, or null if the index is where the root paths lead. */
  IndexLocation indexLocation(SkippingSettings settings);
}
