package io.xskip.collect;

import io.xskip.common.Bytes;
import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A Bloom filter in Spark's format, of a whole file, or the distinct hashes: filters of parts
 * cannot be merged.
 */
class BloomHashes extends Accumulator {
  private static final int FORMAT_VERSION = 1;
  private static final int HEADER_BYTES = 12;
  private static final double LN_2 = Math.log(2);

  private final ValueType type;
  private final int expectedValues; // for which filters are sized; 0: for the values of the file
  private final double logRate; // the natural logarithm of the false positive rate
  private final DistinctLongs hashes = new DistinctLongs();

  BloomHashes(ValueType type, int expectedValues, double logRate) {
    this.type = type;
    this.expectedValues = expectedValues;
    this.logRate = logRate;
  }

  @Override
  int width() {
    return 2;
  }

  @Override
  void reset() {
    hashes.clear();
  }

  @Override
  void add(SpecializedGetters row, int column) {
    if (type.isString()) {
      addString(row, column);
    } else if (type.isBinary()) {
      addBinary(row, column);
    } else {
      long number = type.readLong(row, column); // integers of all types are hashed as longs
      int first = Murmur3_x86_32.hashLong(number, 0);
      addPair(first, Murmur3_x86_32.hashLong(number, first));
    }
  }

  private void addString(SpecializedGetters row, int column) {
    if (row instanceof UnsafeRow) {
      addBytesOf((UnsafeRow) row, column);
    } else {
      UTF8String string = row.getUTF8String(column);
      addBytes(string.getBaseObject(), string.getBaseOffset(), string.numBytes());
    }
  }

  private void addBinary(SpecializedGetters row, int column) {
    if (row instanceof UnsafeRow) {
      addBytesOf((UnsafeRow) row, column);
    } else {
      byte[] bytes = row.getBinary(column);
      addBytes(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    }
  }

  private void addBytesOf(UnsafeRow row, int column) { // without an object for the value
    long offsetAndLength = row.getLong(column);
    long offset = row.getBaseOffset() + (offsetAndLength >>> 32);
    addBytes(row.getBaseObject(), offset, (int) offsetAndLength);
  }

  /** Adds a value that lies in memory, in Spark's addressing of {@link Platform}. */
  final void addBytes(Object base, long offset, int length) {
    int first = Murmur3_x86_32.hashUnsafeBytes(base, offset, length, 0);
    addPair(first, Murmur3_x86_32.hashUnsafeBytes(base, offset, length, first));
  }

  private void addPair(int first, int second) { // the first hash is the seed of the second one
    hashes.add(((long) first << 32) | (second & 0xFFFFFFFFL));
  }

  @Override
  void merge(Accumulator other) {
    hashes.addAll(((BloomHashes) other).hashes);
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    long[] distinct = hashes.values();
    if (isWholeFile) {
      result[start + 1] = filter(distinct);
    } else {
      result[start] = Bytes.bytes(distinct); // Spark would convert a list element by element
    }
  }

  /** Returns a serialized filter, as {@code xskip.types.bloom_bits} builds it. */
  private byte[] filter(long[] pairs) {
    int values = Math.max(expectedValues > 0 ? expectedValues : pairs.length, 1);
    double bitCount = Math.floor(-values * logRate / (LN_2 * LN_2));
    int functions = Math.max(1, (int) Math.floor(bitCount / values * LN_2 + 0.5));
    long[] words = new long[Math.max(1, (int) Math.ceil(bitCount / 64))];
    for (long pair : pairs) {
      setBits(words, functions, pair);
    }
    // Spark's BloomFilter.writeTo, version 1, big-endian; the lowest bit of a word comes first
    ByteBuffer buffer = ByteBuffer.allocate(HEADER_BYTES + 8 * words.length);
    buffer.putInt(FORMAT_VERSION);
    buffer.putInt(functions);
    buffer.putInt(words.length);
    buffer.asLongBuffer().put(words);
    return buffer.array();
  }

  private static void setBits(long[] words, int functions, long pair) {
    long bitCount = words.length * 64L;
    int combined = (int) (pair >> 32);
    int step = (int) pair;
    for (int i = 0; i < functions; i++) {
      combined += step;
      int bit = combined ^ (combined >> 31); // the complement of a negative sum
      if (bitCount <= Integer.MAX_VALUE) {
        bit %= (int) bitCount;
      }
      words[bit >>> 6] |= 1L << bit;
    }
  }
}
