package io.xskip.collect;

import java.util.Arrays;

/**
 * A set of well-mixed longs as a log: what comes is written down, and now and then all is parted,
 * so that what is equal is found within a cache, and made distinct. In a table of many entries each
 * addition would miss the caches.
 */
public class DistinctLongs {
  private static final int SMALL = 4096, PART = 2048;
  private static final long MIX = 0x9E3779B97F4A7C15L;
  private long[] log = new long[SMALL], parted = new long[SMALL], seen = new long[2 * PART];
  private int n = 0;

  void add(long v) {
    if (n == log.length) {
      settle();
      if (n > log.length / 2) log = Arrays.copyOf(log, log.length * 2);
    }
    log[n++] = v;
  }

  long[] values() {
    settle();
    return Arrays.copyOf(log, n);
  }

  /** As large as it was, for the next set is mostly alike; one that was far too large shrinks. */
  void clear() {
    if (log.length > SMALL && n * 8L < log.length) {
      log = new long[log.length / 4];
      parted = new long[SMALL];
    }
    n = 0;
  }

  private void settle() {
    int bits = 0;
    while (n >> bits > PART) bits++;
    int[] ends = bits == 0 ? new int[] {n} : part(bits);
    long[] from = bits == 0 ? log : parted; // what is kept never overtakes what is read
    boolean zero = false;
    int start = 0, kept = 0;
    for (int p = 0; p < ends.length; start = ends[p++]) {
      int capacity = PART;
      while (capacity < (ends[p] - start) * 2) capacity *= 2;
      if (seen.length < capacity) seen = new long[capacity];
      else Arrays.fill(seen, 0, capacity, 0L);
      for (int i = start; i < ends[p]; i++) {
        long v = from[i];
        if (v == 0L) {
          zero = true;
          continue;
        } // an empty slot is 0
        int k = (int) (v * MIX >>> 16) & capacity - 1;
        while (seen[k] != 0L && seen[k] != v) k = k + 1 & capacity - 1;
        if (seen[k] == 0L) {
          seen[k] = v;
          log[kept++] = v;
        }
      }
    }
    if (zero) log[kept++] = 0L;
    n = kept;
  }

  /** Parts the log by the highest bits of what is mixed; where each part ends. */
  private int[] part(int bits) {
    if (parted.length < n) parted = new long[log.length];
    int[] ends = new int[1 << bits];
    for (int i = 0; i < n; i++) ends[place(log[i], bits)]++;
    for (int p = 0, sum = 0; p < ends.length; p++) {
      int count = ends[p];
      ends[p] = sum;
      sum += count;
    }
    for (int i = 0; i < n; i++) parted[ends[place(log[i], bits)]++] = log[i];
    return ends;
  }

  private static int place(long v, int bits) {
    return (int) (v * MIX >>> 32 >>> 32 - bits);
  }
}
