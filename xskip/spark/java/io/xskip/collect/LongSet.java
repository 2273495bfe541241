package io.xskip.collect;

import java.util.Arrays;

/** A set of longs, open addressing; 0 stands for an empty slot and is kept apart. */
public class LongSet {
  private static final int SMALL = 4096;
  private long[] table = new long[SMALL];
  private int size;
  private boolean zero;

  /**
   * As large as the set was, for the next is mostly alike; a table that was far too large shrinks.
   */
  void clear() {
    if (table.length > SMALL && size * 8L < table.length) table = new long[table.length / 4];
    else Arrays.fill(table, 0L);
    size = 0;
    zero = false;
  }

  int size() {
    return zero ? size + 1 : size;
  }

  void add(long v) {
    if (v == 0L) {
      zero = true;
      return;
    }
    if (!put(table, v)) return;
    if (++size * 2L > table.length) {
      long[] bigger = new long[table.length * 2];
      for (int i = 0; i < table.length; i++) if (table[i] != 0L) put(bigger, table[i]);
      table = bigger;
    }
  }

  private static boolean put(long[] t, long v) {
    long h = v * 0x9E3779B97F4A7C15L;
    int mask = t.length - 1, k = (int) (h >>> 32) & mask;
    while (t[k] != 0L) {
      if (t[k] == v) return false;
      k = (k + 1) & mask;
    }
    t[k] = v;
    return true;
  }

  long[] values() {
    long[] r = new long[size()];
    int n = 0;
    for (int i = 0; i < table.length; i++) if (table[i] != 0L) r[n++] = table[i];
    return r; // the last element is 0 where 0 is in the set
  }
}
