package io.xskip.collect;

import java.util.Arrays;
import java.util.Comparator;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/**
 * Ranges, at most as many as a limit, that contain every number of a file, separated by the widest
 * gaps.
 */
final class ValueRanges extends Accumulator {
  private static final int CAPACITY = 8192;
  private static final int REDUCED_SIZE = 1024; // the ranges that remain when the arrays are full

  private final ValueType type;
  private final int limit; // at least 2
  // in Spark's order of the values: as toOrdered returns them, or unscaled values of decimals
  private final long[] lower = new long[CAPACITY];
  private final long[] upper = new long[CAPACITY];
  private int size;

  ValueRanges(ValueType type, int limit) {
    this.type = type;
    this.limit = limit;
  }

  @Override
  int width() {
    return 1;
  }

  @Override
  void reset() {
    size = 0;
  }

  @Override
  void add(SpecializedGetters row, int column) {
    long value = read(row, column);
    if (size > 0 && lower[size - 1] <= value && value <= upper[size - 1]) {
      return;
    }
    if (size == CAPACITY) {
      reduceTo(REDUCED_SIZE);
    }
    append(value, value);
  }

  private long read(SpecializedGetters row, int column) {
    if (type.isFloatingPoint()) {
      return toOrdered(type.readDouble(row, column));
    }
    if (type.isDecimal()) {
      return type.readDecimal(row, column).toUnscaledLong();
    }
    return type.readLong(row, column);
  }

  private void append(long low, long high) {
    lower[size] = low;
    upper[size] = high;
    size++;
  }

  /**
   * Returns a long for a double so that the longs have Spark's order: both zeros are equal, and NaN
   * is above all.
   */
  private static long toOrdered(double number) {
    long bits = ValueType.canonicalBits(number);
    return bits < 0 ? bits ^ Long.MAX_VALUE : bits;
  }

  private static long toBits(long ordered) {
    return ordered < 0 ? ordered ^ Long.MAX_VALUE : ordered;
  }

  /** Sorts the ranges and joins them until at most a number of them, at least 2, remain. */
  private void reduceTo(int most) {
    joinAdjacent();
    if (size > most) {
      joinNarrowest(most);
    }
  }

  /** Sorts the ranges, and joins ranges that overlap or have no value between them. */
  private void joinAdjacent() {
    long[] lows = Arrays.copyOf(lower, size);
    long[] highs = Arrays.copyOf(upper, size);
    Integer[] order = new Integer[size];
    for (int i = 0; i < order.length; i++) {
      order[i] = Integer.valueOf(i);
    }
    Arrays.sort(order, new ByLowerEnd(lows));
    size = 0;
    for (Integer position : order) {
      long low = lows[position.intValue()];
      long high = highs[position.intValue()];
      if (size > 0 && isAdjacent(upper[size - 1], low)) {
        upper[size - 1] = Math.max(upper[size - 1], high);
      } else {
        append(low, high);
      }
    }
  }

  private boolean isAdjacent(long high, long nextLow) {
    return nextLow <= high || (!type.isFloatingPoint() && nextLow - 1 == high);
  }

  /** Closes all gaps but the widest ones, so that a number of ranges remains. */
  private void joinNarrowest(int most) {
    double[] gaps = new double[size - 1];
    for (int i = 1; i < size; i++) {
      gaps[i - 1] = gap(upper[i - 1], lower[i]);
    }
    double[] sorted = Arrays.copyOf(gaps, gaps.length);
    Arrays.sort(sorted);
    // of the gaps that are as wide as the narrowest open gap, only the first ones remain open
    int firstOpen = sorted.length - (most - 1);
    double narrowest = sorted[firstOpen];
    int equal = 0;
    while (firstOpen + equal < sorted.length && sorted[firstOpen + equal] == narrowest) {
      equal++;
    }
    int total = size;
    size = 1;
    for (int i = 1; i < total; i++) {
      double gap = gaps[i - 1];
      boolean isOpen = gap > narrowest;
      if (gap == narrowest && equal > 0) {
        isOpen = true;
        equal--;
      }
      if (isOpen) {
        append(lower[i], upper[i]);
      } else {
        upper[size - 1] = upper[i];
      }
    }
  }

  private double gap(long from, long to) { // NaN is as far from numbers as infinity is
    double distance = toNumber(to) - toNumber(from);
    return Double.isNaN(distance) ? Double.POSITIVE_INFINITY : distance;
  }

  private double toNumber(long value) {
    return type.isFloatingPoint() ? Double.longBitsToDouble(toBits(value)) : (double) value;
  }

  @Override
  void merge(Accumulator other) {
    ValueRanges ranges = (ValueRanges) other;
    for (int i = 0; i < ranges.size; i++) {
      if (size == CAPACITY) {
        reduceTo(REDUCED_SIZE);
      }
      append(ranges.lower[i], ranges.upper[i]);
    }
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    reduceTo(limit);
    Object[] ends = new Object[2 * size];
    for (int i = 0; i < size; i++) {
      ends[2 * i] = toObject(lower[i]);
      ends[2 * i + 1] = toObject(upper[i]);
    }
    result[start] = new GenericArrayData(ends);
  }

  private Object toObject(long value) {
    if (type.isDecimal()) {
      return type.decimal(value);
    }
    return type.box(type.isFloatingPoint() ? toBits(value) : value);
  }

  private static final class ByLowerEnd implements Comparator<Object> {
    private final long[] lows;

    ByLowerEnd(long[] lows) {
      this.lows = lows;
    }

    @Override
    public int compare(Object a, Object b) {
      return Long.compare(lows[((Integer) a).intValue()], lows[((Integer) b).intValue()]);
    }
  }
}
