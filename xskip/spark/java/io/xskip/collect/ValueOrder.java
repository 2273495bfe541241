package io.xskip.collect;

import java.util.Comparator;

public class ValueOrder implements Comparator {
  private final long[] v;

  ValueOrder(long[] v) {
    this.v = v;
  }

  public int compare(Object a, Object b) {
    return Long.compare(v[((Integer) a).intValue()], v[((Integer) b).intValue()]);
  }
}
