package io.xskip.collect;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;

/**
 * Ranges that hold every value, as many as the cap at most, with the widest gaps between them. Of
 * numbers: values are kept as longs in Spark's order, decimals by their unscaled value. The ranges
 * come as one list, ends in turn.
 */
public class ValueRanges extends Accumulator {
  private static final int HELD = 8192,
      KEPT = 1024; // of the ends held, and of those kept where they are too many
  private final int cap;
  private final long[] low = new long[HELD], high = new long[HELD];
  private int n;

  ValueRanges(int cap) {
    this.cap = cap;
  }

  int width() {
    return 1;
  }

  void reset() {
    n = 0;
  }

  void add(SpecializedGetters r, int at) {
    long v =
        kind == FLOAT || kind == DOUBLE
            ? ordered(real(r, at))
            : kind == DECIMAL ? r.getDecimal(at, precision, scale).toUnscaledLong() : number(r, at);
    if (n > 0 && low[n - 1] <= v && v <= high[n - 1]) return;
    if (n == HELD) narrow(KEPT);
    low[n] = v;
    high[n++] = v;
  }

  /** The bits of one zero and one NaN, so that they rise as the numbers do. */
  static long ordered(double v) {
    long bits = Double.doubleToLongBits(v == 0.0 ? 0.0 : v);
    return bits < 0 ? bits ^ Long.MAX_VALUE : bits;
  }

  static long bits(long ordered) {
    return ordered < 0 ? ordered ^ Long.MAX_VALUE : ordered;
  }

  /** As a number, for how far apart two are. */
  private double place(long v) {
    return kind == FLOAT || kind == DOUBLE ? Double.longBitsToDouble(bits(v)) : (double) v;
  }

  private void narrow(int most) {
    final long[] a = low, b = high;
    Integer[] order = new Integer[n];
    for (int i = 0; i < n; i++) order[i] = new Integer(i);
    Arrays.sort(order, new ValueOrder(a));
    long[] l = new long[n], h = new long[n];
    int m = 0;
    for (int i = 0; i < n; i++) {
      int k = order[i].intValue();
      // between whole numbers that are neighbours there is no gap
      if (m > 0 && (a[k] <= h[m - 1] || kind != FLOAT && kind != DOUBLE && a[k] - 1 == h[m - 1]))
        h[m - 1] = Math.max(h[m - 1], b[k]);
      else {
        l[m] = a[k];
        h[m++] = b[k];
      }
    }
    double least = -1;
    int wide = m;
    if (m > most) { // the narrowest of the widest gaps, of which there may be several
      double[] gaps = new double[m - 1];
      for (int i = 1; i < m; i++) gaps[i - 1] = gap(h[i - 1], l[i]);
      Arrays.sort(gaps);
      least = gaps[m - most];
      wide = 0;
      for (int i = m - most; i < m - 1 && gaps[i] == least; i++) wide++;
    }
    n = 0;
    for (int i = 0; i < m; i++) {
      double g = i == 0 ? 0 : gap(h[i - 1], l[i]);
      boolean apart = i == 0 || g > least || g == least && wide-- > 0;
      if (apart) {
        low[n] = l[i];
        high[n++] = h[i];
      } else high[n - 1] = h[i];
    }
  }

  /** NaN is as far from all else as infinity is. */
  private double gap(long from, long to) {
    double g = place(to) - place(from);
    return g != g ? Double.POSITIVE_INFINITY : g;
  }

  void emit(Object[] out, int at, boolean whole) {
    narrow(cap);
    Object[] ends = new Object[2 * n];
    for (int i = 0; i < n; i++) {
      ends[2 * i] = end(low[i]);
      ends[2 * i + 1] = end(high[i]);
    }
    out[at] = new GenericArrayData(ends);
  }

  private Object end(long v) {
    if (kind == DECIMAL) return new Decimal().set(v, precision, scale);
    return boxed(kind == FLOAT || kind == DOUBLE ? bits(v) : v);
  }
}
