package io.xskip.collect;

import io.xskip.common.Bytes;
import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A Bloom filter of the values' hashes where the run is all of its object, else the distinct
 * hashes, for filters of parts cannot be joined. A hash is a pair: the first in the upper 32 bits,
 * the second, which the first seeds, in the lower. Numbers are hashed as longs.
 */
public class BloomHashes extends Accumulator {
  private final DistinctLongs set = new DistinctLongs();
  private final int items;
  private final double logRate;

  /**
   * For so many items, or as many as there are where they are 0; at this natural logarithm of a
   * false positive rate.
   */
  BloomHashes(int items, double logRate) {
    this.items = items;
    this.logRate = logRate;
  }

  int width() {
    return 2;
  }

  void reset() {
    set.clear();
  }

  void add(SpecializedGetters r, int at) {
    if (r instanceof UnsafeRow
        && (kind == STRING || kind == BINARY)) { // without an object for each value
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

  private void pair(int first, int second) {
    set.add((long) first << 32 | second & 0xFFFFFFFFL);
  }

  void emit(Object[] out, int at, boolean whole) {
    long[] hashes = set.values();
    out[at + (whole ? 1 : 0)] =
        whole ? filter(hashes) : Bytes.bytes(hashes); // a list of longs would cost each one a call
  }

  /** As BloomFilter.writeTo of version 1; the size is that of xskip/types/bloom_filter.py. */
  private byte[] filter(long[] hashes) {
    int n = Math.max(items > 0 ? items : hashes.length, 1);
    double ln2 = Math.log(2);
    double wanted = Math.floor(-n * logRate / (ln2 * ln2));
    int functions = Math.max(1, (int) Math.floor(wanted / n * ln2 + 0.5)),
        size = Math.max(1, (int) Math.ceil(wanted / 64));
    long[] words = new long[size];
    long bits = size * 64L;
    for (int i = 0; i < hashes.length; i++) {
      int combined = (int) (hashes[i] >> 32), step = (int) hashes[i];
      for (int k = 0; k < functions; k++) {
        combined += step;
        int bit = combined ^ combined >> 31; // the complement where negative
        if (bits <= Integer.MAX_VALUE) bit %= (int) bits;
        words[bit >>> 6] |= 1L << bit;
      }
    }
    ByteBuffer b = ByteBuffer.allocate(12 + 8 * size);
    b.putInt(1);
    b.putInt(functions);
    b.putInt(size);
    b.asLongBuffer().put(words);
    return b.array();
  }
}
