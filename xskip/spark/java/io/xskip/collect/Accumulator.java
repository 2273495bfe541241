package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.vectorized.ColumnarArray;

/** A statistic of the values of one column, for one file after the other. */
abstract class Accumulator {
  /** Returns the number of result columns that {@link #emit} fills. */
  abstract int width();

  /** Discards all values, before the first value of a file. */
  abstract void reset();

  /**
   * Adds the value of a column, which is not NULL, with as few new objects as possible: it runs for
   * each row.
   */
  abstract void add(SpecializedGetters row, int column);

  void addNull() {} // most statistics ignore NULL

  /** Adds the values of a batch of rows, and returns the number of NULLs among them. */
  int addAll(ColumnarArray values) {
    int count = values.numElements();
    int nulls = 0;
    for (int i = 0; i < count; i++) {
      if (values.isNullAt(i)) {
        addNull();
        nulls++;
      } else {
        add(values, i);
      }
    }
    return nulls;
  }

  /** Adds the values of an accumulator of the same description. */
  abstract void merge(Accumulator other);

  /**
   * Writes the statistic to the result columns from {@code start} on, which are null; {@code
   * isWholeFile}: of all rows of a file.
   */
  abstract void emit(Object[] result, int start, boolean isWholeFile);
}
