package io.xskip.collect;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The least and the greatest string, binary value (by unsigned bytes) or decimal, in Spark's order.
 */
final class ObjectBounds extends Accumulator {
  private final ValueType type;
  private Object lower; // null before the first value
  private Object upper;

  ObjectBounds(ValueType type) {
    this.type = type;
  }

  @Override
  int width() {
    return 2;
  }

  @Override
  void reset() {
    lower = null;
    upper = null;
  }

  @Override
  void add(SpecializedGetters row, int column) {
    addObject(type.readObject(row, column));
  }

  private void addObject(Object value) {
    if (lower == null) {
      lower = ValueType.copyOf(value);
      upper = lower;
    } else if (compare(value, lower) < 0) {
      lower = ValueType.copyOf(value);
    } else if (compare(value, upper) > 0) {
      upper = ValueType.copyOf(value);
    }
  }

  private static int compare(Object a, Object b) {
    if (a instanceof UTF8String) {
      return ((UTF8String) a).compareTo((UTF8String) b);
    }
    if (a instanceof byte[]) {
      return Arrays.compareUnsigned((byte[]) a, (byte[]) b);
    }
    return ((Decimal) a).compare((Decimal) b);
  }

  @Override
  void merge(Accumulator other) {
    ObjectBounds bounds = (ObjectBounds) other;
    if (bounds.lower != null) {
      addObject(bounds.lower);
      addObject(bounds.upper);
    }
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    result[start] = lower;
    result[start + 1] = upper;
  }
}
