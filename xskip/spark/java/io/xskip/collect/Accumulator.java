package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.vectorized.ColumnarArray;

/**
 * A statistic of the values of one column, for one file after the other.
 *
 * <p>The methods {@code add} run for each row of a build, so they allocate as little as possible.
 */
abstract class Accumulator {
  /** Returns the number of result columns that {@link #emit} fills. */
  abstract int width();

  /** Discards all values, before the first value of a file. */
  abstract void reset();

  /** Adds the value of a column, which is not NULL. */
  abstract void add(SpecializedGetters row, int column);

  /** Adds a NULL, which most statistics ignore. */
  void addNull() {}

  /** Adds the values of a batch of rows. */
  void addAll(ColumnarArray values) {
    int count = values.numElements();
    for (int i = 0; i < count; i++) {
      if (values.isNullAt(i)) {
        addNull();
      } else {
        add(values, i);
      }
    }
  }

  /**
   * Writes the statistic to a row of results, whose columns are null before.
   *
   * @param result the values of the row
   * @param start the position of the first of the {@link #width} result columns
   * @param isWholeFile whether the values are those of all rows of the file
   */
  abstract void emit(Object[] result, int start, boolean isWholeFile);
}
