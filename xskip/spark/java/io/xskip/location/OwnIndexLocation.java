package io.xskip.location;

import io.xskip.common.SkippingSettings;

/** A file index that knows where the index of its files is. */
public interface OwnIndexLocation {
  /**
   * Returns the location, or null if the index is where the root paths lead.
   *
   * @param settings the settings of the session that reads the files
   */
  IndexLocation indexLocation(SkippingSettings settings);
}
