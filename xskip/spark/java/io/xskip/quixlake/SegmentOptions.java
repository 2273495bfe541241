package io.xskip.quixlake;

import java.io.Serializable;

/** How the sink writes segments. */
public final class SegmentOptions implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The name of an Avro codec. */
  final String codec;

  /** The end of the names of segments, from {@code .avro} on. */
  final String suffix;

  /** Whether the values of headers are structs of {@code string} and {@code bytes}. */
  final boolean hasBranches;

  final long maxRows;
  final long maxBytes;
  final long maxMillis;

  /** Creates options. The limits are a number of messages, of bytes and of milliseconds. */
  public SegmentOptions(String codec, String suffix, boolean hasBranches, long[] limits) {
    this.codec = codec;
    this.suffix = suffix;
    this.hasBranches = hasBranches;
    maxRows = limits[0];
    maxBytes = limits[1];
    maxMillis = limits[2];
  }
}
