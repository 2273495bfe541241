package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/** Spark's order: NaN above all and equal to itself, -0.0 equal to 0.0. */
public class DoubleBounds extends Accumulator {
  private double low, high;
  private boolean any;

  int width() {
    return 2;
  }

  void reset() {
    any = false;
  }

  private static boolean below(double a, double b) {
    return a < b || b != b && a == a;
  }

  void add(SpecializedGetters r, int at) {
    double v = real(r, at);
    if (!any) {
      low = v;
      high = v;
      any = true;
    } else {
      if (below(v, low)) low = v;
      if (below(high, v)) high = v;
    }
  }

  void emit(Object[] out, int at, boolean whole) {
    if (any) {
      out[at] = boxed(Double.doubleToLongBits(low));
      out[at + 1] = boxed(Double.doubleToLongBits(high));
    }
  }
}
