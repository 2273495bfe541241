package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/** The number of rows with NULL in a column, and the number of all rows. */
final class NullCounts extends Accumulator {
  private long nulls;
  private long values;

  @Override
  int width() {
    return 2;
  }

  @Override
  void reset() {
    nulls = 0;
    values = 0;
  }

  @Override
  void add(SpecializedGetters row, int column) {
    values++;
  }

  @Override
  void addNull() {
    nulls++;
  }

  @Override
  void merge(Accumulator other) {
    nulls += ((NullCounts) other).nulls;
    values += ((NullCounts) other).values;
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    result[start] = Long.valueOf(nulls);
    result[start + 1] = Long.valueOf(nulls + values);
  }
}
