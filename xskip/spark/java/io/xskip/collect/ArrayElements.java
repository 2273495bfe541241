package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** The elements of an array, each for itself. */
public class ArrayElements extends Accumulator {
  private final Accumulator each;

  ArrayElements(Accumulator each) {
    this.each = each;
  }

  int width() {
    return each.width();
  }

  void reset() {
    each.reset();
  }

  void add(SpecializedGetters r, int at) {
    ArrayData a = r.getArray(at);
    for (int i = 0, n = a.numElements(); i < n; i++) if (!a.isNullAt(i)) each.add(a, i);
  }

  void emit(Object[] out, int at, boolean whole) {
    each.emit(out, at, whole);
  }
}
