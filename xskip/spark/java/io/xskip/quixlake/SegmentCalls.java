package io.xskip.quixlake;

import io.xskip.common.Bytes;

/** The methods for segments that Python calls. */
public final class SegmentCalls {
  /** Returns the job that writes segments; the limits are those of {@link SegmentOptions}. */
  public SegmentJob job(
      String codec, String suffix, String ending, boolean hasBranches, byte[] limits) {
    return new SegmentJob(
        new SegmentOptions(codec, suffix, ending, hasBranches, Bytes.longs(limits)));
  }

  public SegmentFiles files() {
    return new SegmentFiles();
  }

  public SegmentRelations relations() {
    return new SegmentRelations();
  }
}
