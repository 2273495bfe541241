package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

public class LongBounds extends Accumulator {
  private long low, high;
  private boolean any;

  int width() {
    return 2;
  }

  void reset() {
    any = false;
  }

  void add(SpecializedGetters r, int at) {
    long v = number(r, at);
    if (!any) {
      low = v;
      high = v;
      any = true;
    } else if (v < low) low = v;
    else if (v > high) high = v;
  }

  void emit(Object[] out, int at, boolean whole) {
    if (any) {
      out[at] = boxed(low);
      out[at + 1] = boxed(high);
    }
  }
}
