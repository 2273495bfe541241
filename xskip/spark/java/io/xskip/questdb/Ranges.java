package io.xskip.questdb;

/** The places of the values of a range of rows, within bytes that were read. */
final class Ranges {
  /** The number of rows at the start that are older than the column, and that of the others. */
  final int missing;

  final int present;
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

  /** Returns where the value of a row starts in the data. */
  int start(int row) {
    return (int) (starts[row - missing] - base);
  }

  /** Returns the number of bytes of the value of a row. */
  int length(int row) {
    return (int) (ends[row - missing] - starts[row - missing]);
  }
}
