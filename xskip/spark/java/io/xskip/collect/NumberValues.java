package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/**
 * The distinct numbers or Booleans (all zeros are one, and all NaNs), or null if there are more
 * than a limit.
 */
final class NumberValues extends Accumulator {
  private final ValueType type;
  private final int limit;
  private final LongSet values = new LongSet();
  private boolean isOverLimit;

  NumberValues(ValueType type, int limit) {
    this.type = type;
    this.limit = limit;
  }

  @Override
  int width() {
    return 1;
  }

  @Override
  void reset() {
    values.clear();
    isOverLimit = false;
  }

  @Override
  void add(SpecializedGetters row, int column) {
    if (isOverLimit) {
      return;
    }
    if (type.isFloatingPoint()) {
      values.add(ValueType.canonicalBits(type.readDouble(row, column)));
    } else {
      values.add(type.readLong(row, column));
    }
    if (values.size() > limit) {
      isOverLimit = true;
      values.clear();
    }
  }

  @Override
  void merge(Accumulator other) {
    NumberValues others = (NumberValues) other;
    isOverLimit |= others.isOverLimit;
    if (!isOverLimit) {
      for (long value : others.values.values()) {
        values.add(value);
      }
      isOverLimit = values.size() > limit;
    }
    if (isOverLimit) {
      values.clear();
    }
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    if (isOverLimit) {
      return;
    }
    long[] distinct = values.values();
    Object[] boxed = new Object[distinct.length];
    for (int i = 0; i < distinct.length; i++) {
      boxed[i] = type.box(distinct[i]);
    }
    result[start] = new GenericArrayData(boxed);
  }
}
