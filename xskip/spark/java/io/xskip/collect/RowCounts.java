package io.xskip.collect;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * The number of rows, and the number of NULLs in the column of each of several accumulators, for
 * one file after the other.
 */
final class RowCounts {
  /** The description that asks for the counts, after those of the accumulators. */
  static final String SPEC = "rows";

  /** The number of rows, then the numbers of NULLs. */
  private final long[] counts;

  RowCounts(int accumulators) {
    counts = new long[accumulators + 1];
  }

  /** Begins a file. */
  void reset() {
    Arrays.fill(counts, 0);
  }

  /** Adds rows, whose NULLs are added separately. */
  void addRows(int rows) {
    counts[0] += rows;
  }

  /** Adds NULLs in the column of an accumulator. */
  void addNulls(int accumulator, int nulls) {
    counts[accumulator + 1] += nulls;
  }

  /** Adds the counts of other rows. */
  void addAll(RowCounts other) {
    for (int i = 0; i < counts.length; i++) {
      counts[i] += other.counts[i];
    }
  }

  /** Returns the number of rows. */
  long rows() {
    return counts[0];
  }

  /** Returns the counts: the rows, then the NULLs of each accumulator. */
  ArrayData result() {
    return UnsafeArrayData.fromPrimitiveArray(counts);
  }
}
