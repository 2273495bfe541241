package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/** The least and the greatest integer or Boolean. */
final class LongBounds extends Accumulator {
  private final ValueType type;
  private long lower;
  private long upper;
  private boolean isEmpty = true;

  LongBounds(ValueType type) {
    this.type = type;
  }

  @Override
  int width() {
    return 2;
  }

  @Override
  void reset() {
    isEmpty = true;
  }

  @Override
  void add(SpecializedGetters row, int column) {
    long value = type.readLong(row, column);
    if (isEmpty) {
      lower = value;
      upper = value;
      isEmpty = false;
    } else if (value < lower) {
      lower = value;
    } else if (value > upper) {
      upper = value;
    }
  }

  @Override
  void merge(Accumulator other) {
    LongBounds bounds = (LongBounds) other;
    if (!bounds.isEmpty) {
      lower = isEmpty ? bounds.lower : Math.min(lower, bounds.lower);
      upper = isEmpty ? bounds.upper : Math.max(upper, bounds.upper);
      isEmpty = false;
    }
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    if (!isEmpty) {
      result[start] = type.box(lower);
      result[start + 1] = type.box(upper);
    }
  }
}
