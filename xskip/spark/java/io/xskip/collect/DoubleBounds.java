package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/**
 * The least and the greatest floating-point number, in Spark's order: -0.0 equals 0.0, NaN is above
 * all others.
 */
final class DoubleBounds extends Accumulator {
  private final ValueType type;
  private double lower;
  private double upper;
  private boolean isEmpty = true;

  DoubleBounds(ValueType type) {
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
    addNumber(type.readDouble(row, column));
  }

  private void addNumber(double value) {
    if (isEmpty) {
      lower = value;
      upper = value;
      isEmpty = false;
      return;
    }
    if (isLess(value, lower)) {
      lower = value;
    }
    if (isLess(upper, value)) {
      upper = value;
    }
  }

  private static boolean isLess(double a, double b) {
    return a < b || (Double.isNaN(b) && !Double.isNaN(a));
  }

  @Override
  void merge(Accumulator other) {
    DoubleBounds bounds = (DoubleBounds) other;
    if (!bounds.isEmpty) {
      addNumber(bounds.lower);
      addNumber(bounds.upper);
    }
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    if (!isEmpty) {
      result[start] = type.box(Double.doubleToLongBits(lower));
      result[start + 1] = type.box(Double.doubleToLongBits(upper));
    }
  }
}
