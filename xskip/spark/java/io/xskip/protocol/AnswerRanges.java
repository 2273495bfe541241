package io.xskip.protocol;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Ranges of the files that an answer leaves [JVM-AN-6] [JVM-AN-7]. */
public final class AnswerRanges {
  /** The position of a file that is not among those that are left. */
  public static final int NOT_LEFT = -1;

  private static final long WHOLE = -1;

  /** For each file of the snapshot its position among those that are left. */
  private final int[] positions;

  /** For each file that is left the first of its ranges, and one more. */
  private final int[] firsts;

  /** For each file that is left the first of its units, and one more. */
  private final int[] firstUnits;

  /** For each unit its range, or -1 for a whole file. */
  private final int[] rangeOf;

  private final boolean[] isWhole;
  private final long[] starts;
  private final long[] lengths;

  /**
   * Creates ranges.
   *
   * @param section the starts and the lengths, or null if all files are whole
   */
  private AnswerRanges(int[] positions, long[] counts, ByteBuffer section) {
    this.positions = positions;
    int most = section == null ? 0 : section.capacity();
    firsts = new int[counts.length + 1];
    firstUnits = new int[counts.length + 1];
    isWhole = new boolean[counts.length];
    for (int i = 0; i < counts.length; i++) {
      isWhole[i] = counts[i] == WHOLE;
      if (counts[i] < WHOLE || counts[i] > most) {
        throw new IllegalArgumentException("a file has " + counts[i] + " ranges");
      }
      int ranges = (int) Math.max(0, counts[i]);
      firsts[i + 1] = firsts[i] + ranges;
      firstUnits[i + 1] = firstUnits[i] + (isWhole[i] ? 1 : ranges);
    }
    int total = firsts[counts.length];
    starts = section == null ? new long[0] : PackedIntegers.read(section, total);
    lengths = section == null ? new long[0] : PackedIntegers.read(section, total);
    rangeOf = new int[units()];
    for (int i = 0; i < counts.length; i++) {
      for (int unit = firstUnits[i]; unit < firstUnits[i + 1]; unit++) {
        rangeOf[unit] = isWhole[i] ? -1 : firsts[i] + unit - firstUnits[i];
      }
    }
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

  /** Returns the ranges of files that have none. */
  static AnswerRanges whole(int[] positions, int left) {
    long[] counts = new long[left];
    Arrays.fill(counts, WHOLE);
    return new AnswerRanges(positions, counts, null);
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

  /** Returns the number of units: of the ranges, and the files without ranges. */
  public int units() {
    return firstUnits[firstUnits.length - 1];
  }

  /** Returns the number of units of a file of the snapshot; 1 for a file that is not left. */
  public int unitsOf(int ordinal) {
    int position = positions[ordinal];
    return position == NOT_LEFT ? 1 : firstUnits[position + 1] - firstUnits[position];
  }

  /** Returns the first unit of a file of the snapshot, or {@link #NOT_LEFT}. */
  public int firstUnit(int ordinal) {
    int position = positions[ordinal];
    return position == NOT_LEFT ? NOT_LEFT : firstUnits[position];
  }

  /** Returns the start and the length of a unit; null for a whole file. */
  public long[] range(int unit) {
    int range = rangeOf[unit];
    return range < 0 ? null : new long[] {starts[range], lengths[range]};
  }
}
