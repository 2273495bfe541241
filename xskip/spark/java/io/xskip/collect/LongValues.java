package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** Distinct numbers; null beyond the cap. */
public class LongValues extends Accumulator {
  private final LongSet set = new LongSet();
  private final int cap;
  private boolean over;

  LongValues(int cap) {
    this.cap = cap;
  }

  int width() {
    return 1;
  }

  void reset() {
    set.clear();
    over = false;
  }

  void add(SpecializedGetters r, int at) {
    if (over) return;
    if (kind >= FLOAT) {
      double v = real(r, at);
      set.add(Double.doubleToLongBits(v == 0.0 ? 0.0 : v)); // one zero, one NaN
    } else set.add(number(r, at));
    if (set.size() > cap) {
      over = true;
      set.clear();
    }
  }

  void emit(Object[] out, int at, boolean whole) {
    if (over) return;
    long[] v = set.values();
    Object[] boxed = new Object[v.length];
    for (int i = 0; i < v.length; i++) boxed[i] = boxed(v[i]);
    out[at] = new GenericArrayData(boxed);
  }
}
