package io.xskip.quixlake;

import java.io.Serializable;

/** How the sink writes segments. */
public final class SegmentOptions implements Serializable {
  private static final long serialVersionUID = 1L;

  final String codec; // of Avro
  final String suffix; // of the names of segments, from .avro to the codec
  final String ending; // of the names of segments
  final boolean hasBranches; // whether the values of headers are structs of string and bytes
  final long maxRows;
  final long maxBytes;
  final long maxMillis;

  public SegmentOptions(
      String codec, String suffix, String ending, boolean hasBranches, long[] limits) {
    this.codec = codec;
    this.suffix = suffix;
    this.ending = ending;
    this.hasBranches = hasBranches;
    maxRows = limits[0];
    maxBytes = limits[1];
    maxMillis = limits[2];
  }
}
