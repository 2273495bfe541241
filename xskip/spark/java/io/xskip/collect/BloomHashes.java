package io.xskip.jvm;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;

/** A Bloom filter of the values' hashes where the run is all of its object, else the distinct hashes, for filters of
    parts cannot be joined. A hash is a pair: the first in the upper 32 bits, the second, which the first seeds, in the
    lower. Numbers are hashed as longs. */
class XSkipHashes extends XSkipAccumulator {
  private final XSkipDistinct set = new XSkipDistinct(); private final int items; private final double logRate;
  /** For so many items, or as many as there are where they are 0; at this natural logarithm of a false positive rate. */
  XSkipHashes(int items, double logRate) { this.items = items; this.logRate = logRate; }
  int width() { return 2; }
  void reset() { set.clear(); }
  void add(SpecializedGetters r, int at) {
    if (r instanceof UnsafeRow && (kind == STRING || kind == BINARY)) {          // without an object for each value
      UnsafeRow row = (UnsafeRow) r;
      long place = row.getLong(at);
      bytes(row.getBaseObject(), row.getBaseOffset() + (place >>> 32), (int) place);
    } else if (kind == STRING) {
      UTF8String s = r.getUTF8String(at);
      bytes(s.getBaseObject(), s.getBaseOffset(), s.numBytes());
    } else if (kind == BINARY) {
      byte[] b = r.getBinary(at);
      bytes(b, Platform.BYTE_ARRAY_OFFSET, b.length);
    } else {
      long v = number(r, at);
      int first = Murmur3_x86_32.hashLong(v, 0);
      pair(first, Murmur3_x86_32.hashLong(v, first));
    }
  }
  void bytes(Object base, long offset, int length) {
    int first = Murmur3_x86_32.hashUnsafeBytes(base, offset, length, 0);
    pair(first, Murmur3_x86_32.hashUnsafeBytes(base, offset, length, first));
  }
  private void pair(int first, int second) { set.add((long) first << 32 | second & 0xFFFFFFFFL); }
  void emit(Object[] out, int at, boolean whole) {
    long[] hashes = set.values();
    out[at + (whole ? 1 : 0)] = whole ? filter(hashes) : XSkipBytes.bytes(hashes);   // a list of longs would cost each one a call
  }

  /** As BloomFilter.writeTo of version 1; the size is that of xskip/types/bloom_filter.py. */
  private byte[] filter(long[] hashes) {
    int n = Math.max(items > 0 ? items : hashes.length, 1);
    double ln2 = Math.log(2);
    double wanted = Math.floor(-n * logRate / (ln2 * ln2));
    int functions = Math.max(1, (int) Math.floor(wanted / n * ln2 + 0.5)), size = Math.max(1, (int) Math.ceil(wanted / 64));
    long[] words = new long[size];
    long bits = size * 64L;
    for (int i = 0; i < hashes.length; i++) {
      int combined = (int) (hashes[i] >> 32), step = (int) hashes[i];
      for (int k = 0; k < functions; k++) {
        combined += step;
        int bit = combined ^ combined >> 31;                                    // the complement where negative
        if (bits <= Integer.MAX_VALUE) bit %= (int) bits;
        words[bit >>> 6] |= 1L << bit;
      }
    }
    ByteBuffer b = ByteBuffer.allocate(12 + 8 * size);
    b.putInt(1); b.putInt(functions); b.putInt(size);
    b.asLongBuffer().put(words);
    return b.array();
  }
}

/** A set of well-mixed longs as a log: what comes is written down, and now and then all is parted, so that what is
    equal is found within a cache, and made distinct. In a table of many entries each addition would miss the caches. */
class XSkipDistinct {
  private static final int SMALL = 4096, PART = 2048;
  private static final long MIX = 0x9E3779B97F4A7C15L;
  private long[] log = new long[SMALL], parted = new long[SMALL], seen = new long[2 * PART]; private int n = 0;

  void add(long v) {
    if (n == log.length) {
      settle();
      if (n > log.length / 2) log = Arrays.copyOf(log, log.length * 2);
    }
    log[n++] = v;
  }
  long[] values() { settle(); return Arrays.copyOf(log, n); }
  /** As large as it was, for the next set is mostly alike; one that was far too large shrinks. */
  void clear() {
    if (log.length > SMALL && n * 8L < log.length) { log = new long[log.length / 4]; parted = new long[SMALL]; }
    n = 0;
  }
  private void settle() {
    int bits = 0;
    while (n >> bits > PART) bits++;
    int[] ends = bits == 0 ? new int[]{n} : part(bits);
    long[] from = bits == 0 ? log : parted;               // what is kept never overtakes what is read
    boolean zero = false;
    int start = 0, kept = 0;
    for (int p = 0; p < ends.length; start = ends[p++]) {
      int capacity = PART;
      while (capacity < (ends[p] - start) * 2) capacity *= 2;
      if (seen.length < capacity) seen = new long[capacity]; else Arrays.fill(seen, 0, capacity, 0L);
      for (int i = start; i < ends[p]; i++) {
        long v = from[i];
        if (v == 0L) { zero = true; continue; }           // an empty slot is 0
        int k = (int) (v * MIX >>> 16) & capacity - 1;
        while (seen[k] != 0L && seen[k] != v) k = k + 1 & capacity - 1;
        if (seen[k] == 0L) { seen[k] = v; log[kept++] = v; }
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
    for (int p = 0, sum = 0; p < ends.length; p++) { int count = ends[p]; ends[p] = sum; sum += count; }
    for (int i = 0; i < n; i++) parted[ends[place(log[i], bits)]++] = log[i];
    return ends;
  }
  private static int place(long v, int bits) { return (int) (v * MIX >>> 32 >>> 32 - bits); }
}
