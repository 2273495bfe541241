package io.xskip.questdb;

import java.util.Arrays;

/** The places of the values of a range of rows, within bytes that were read. */
final class Ranges {
  final int missing; // the number of rows at the start that are older than the column
  final int present; // the number of the others
  final byte[] data;
  private final long[] starts;
  private final long[] ends;
  private final long base;

  Ranges(int missing, int present, long[] starts, long[] ends, long base, byte[] data) {
    this.missing = missing;
    this.present = present;
    this.starts = starts;
    this.ends = ends;
    this.base = base;
    this.data = data;
  }

  /** Returns whether no two of the first ranges have a byte in common. */
  static boolean areDisjoint(long[] starts, long[] ends, int count) {
    return areInOrder(starts, ends, count) // as servers write
        || areInOrder(sorted(starts, count), sorted(ends, count), count);
  }

  private static boolean areInOrder(long[] starts, long[] ends, int count) {
    long end = 0;
    for (int i = 0; i < count; i++) {
      if (ends[i] > starts[i]) {
        if (starts[i] < end) {
          return false;
        }
        end = ends[i];
      }
    }
    return true;
  }

  private static long[] sorted(long[] places, int count) {
    long[] copy = Arrays.copyOf(places, count);
    Arrays.sort(copy);
    return copy;
  }

  int start(int row) { // in the data
    return (int) (starts[row - missing] - base);
  }

  int length(int row) {
    return (int) (ends[row - missing] - starts[row - missing]);
  }
}
