package io.xskip.protocol;

import java.nio.ByteBuffer;

/** The ranges of files that a query needs, of the files that an answer leaves [JVM-AN-6]. */
public final class AnswerRanges {
  /** The position of a file that is not among those that are left. */
  public static final int NOT_LEFT = -1;

  private static final long WHOLE = -1;

  /** For each file of the snapshot its position among those that are left. */
  private final int[] positions;

  /** For each file that is left the first of its ranges, and one more. */
  private final int[] firsts;

  private final boolean[] isWhole;
  private final long[] starts;
  private final long[] lengths;

  private AnswerRanges(int[] positions, long[] counts, ByteBuffer section) {
    this.positions = positions;
    firsts = new int[counts.length + 1];
    isWhole = new boolean[counts.length];
    for (int i = 0; i < counts.length; i++) {
      isWhole[i] = counts[i] == WHOLE;
      if (counts[i] < WHOLE || counts[i] > section.capacity()) {
        throw new IllegalArgumentException("a file has " + counts[i] + " ranges");
      }
      firsts[i + 1] = firsts[i] + (int) Math.max(0, counts[i]);
    }
    int total = firsts[counts.length];
    starts = PackedIntegers.read(section, total);
    lengths = PackedIntegers.read(section, total);
  }

  /**
   * Reads a section.
   *
   * @param positions for each file of the snapshot its position among those that are left
   * @param left the number of files that are left
   */
  static AnswerRanges read(ByteBuffer section, int[] positions, int left) {
    return new AnswerRanges(positions, PackedIntegers.read(section, left), section);
  }

  /** Returns the start and the length of each range of a file of the snapshot; null for all. */
  public long[] of(int ordinal) {
    int position = positions[ordinal];
    if (position == NOT_LEFT || isWhole[position]) {
      return null;
    }
    int first = firsts[position];
    long[] ranges = new long[2 * (firsts[position + 1] - first)];
    for (int i = 0; i < ranges.length; i += 2) {
      ranges[i] = starts[first + i / 2];
      ranges[i + 1] = lengths[first + i / 2];
    }
    return ranges;
  }
}
