package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

public class ObjectBounds extends Accumulator {
  private Object low, high;

  int width() {
    return 2;
  }

  void reset() {
    low = null;
    high = null;
  }

  void add(SpecializedGetters r, int at) {
    Object v = value(r, at);
    if (low == null) {
      low = kept(v);
      high = low;
    } else if (compare(v, low) < 0) low = kept(v);
    else if (compare(v, high) > 0) high = kept(v);
  }

  void emit(Object[] out, int at, boolean whole) {
    out[at] = low;
    out[at + 1] = high;
  }
}
