package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

public class NullCounts extends Accumulator {
  private long nulls, values;

  int width() {
    return 2;
  }

  void reset() {
    nulls = 0;
    values = 0;
  }

  void add(SpecializedGetters r, int at) {
    values++;
  }

  void none() {
    nulls++;
  }

  void emit(Object[] out, int at, boolean whole) {
    out[at] = new Long(nulls);
    out[at + 1] = new Long(nulls + values);
  }
}
