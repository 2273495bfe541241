package io.xskip.collect;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The distinct strings, binary values or decimals, or null if there are more of them than a limit.
 */
final class ObjectValues extends Accumulator {
  private static final int RECENT_BITS = 6; // the binary logarithm of the number of recent strings

  private final ValueType type;
  private final int limit;

  // the distinct values, each of them mapped to itself; binary values as byte buffers
  private final Map<Object, Object> values = new HashMap<>();

  // Strings of the values that a row had recently, by a hash of their first bytes and their length.
  // A string that repeats soon is found here without an object for the new string.
  private final UTF8String[] recent = new UTF8String[1 << RECENT_BITS];
  private final long[] recentFirstBytes = new long[1 << RECENT_BITS];

  private boolean isOverLimit;

  ObjectValues(ValueType type, int limit) {
    this.type = type;
    this.limit = limit;
  }

  @Override
  int width() {
    return 1;
  }

  @Override
  void reset() {
    values.clear();
    isOverLimit = false;
    Arrays.fill(recent, null);
  }

  @Override
  void add(SpecializedGetters row, int column) {
    if (isOverLimit) {
      return;
    }
    if (type.isBinary()) {
      addObject(ByteBuffer.wrap(row.getBinary(column)));
    } else if (type.isDecimal()) {
      addObject(type.readDecimal(row, column));
    } else if (row instanceof UnsafeRow) {
      addStringOf((UnsafeRow) row, column);
    } else {
      UTF8String string = row.getUTF8String(column);
      addString(
          string.getBaseObject(), string.getBaseOffset(), string.numBytes(), string.getPrefix());
    }
    if (values.size() > limit) {
      isOverLimit = true;
      values.clear();
    }
  }

  private void addStringOf(UnsafeRow row, int column) {
    Object base = row.getBaseObject();
    long offsetAndLength = row.getLong(column);
    long offset = row.getBaseOffset() + (offsetAndLength >>> 32);
    int length = (int) offsetAndLength;
    // the memory is padded with zeros to a multiple of 8 bytes
    long firstBytes = length == 0 ? 0L : Platform.getLong(base, offset);
    addString(base, offset, length, firstBytes);
  }

  /**
   * Adds a string in memory, in Spark's addressing of {@link Platform}; its first 8 bytes are
   * padded with zeros.
   */
  private void addString(Object base, long offset, int length, long firstBytes) {
    int slot = (int) (((firstBytes + length) * LongSet.MULTIPLIER) >>> (64 - RECENT_BITS));
    UTF8String candidate = recent[slot];
    if (candidate != null
        && recentFirstBytes[slot] == firstBytes
        && candidate.numBytes() == length
        && (length <= 8 || hasBytes(candidate, base, offset))) {
      return;
    }
    recent[slot] = (UTF8String) addObject(UTF8String.fromAddress(base, offset, length));
    recentFirstBytes[slot] = firstBytes;
  }

  private static boolean hasBytes(UTF8String string, Object base, long offset) {
    return ByteArrayMethods.arrayEquals(
        base, offset, string.getBaseObject(), string.getBaseOffset(), string.numBytes());
  }

  /** Adds a value, and returns the equal object of {@link #values}. */
  private Object addObject(Object value) {
    Object present = values.get(value);
    if (present == null) {
      present = ValueType.copyOf(value);
      values.put(present, present);
    }
    return present;
  }

  @Override
  void merge(Accumulator other) {
    ObjectValues others = (ObjectValues) other;
    isOverLimit |= others.isOverLimit;
    if (!isOverLimit) {
      values.putAll(others.values);
      isOverLimit = values.size() > limit;
    }
    if (isOverLimit) {
      values.clear();
    }
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    if (isOverLimit) {
      return;
    }
    Object[] distinct = values.keySet().toArray();
    for (int i = 0; i < distinct.length; i++) {
      if (distinct[i] instanceof ByteBuffer) {
        distinct[i] = ((ByteBuffer) distinct[i]).array();
      }
    }
    result[start] = new GenericArrayData(distinct);
  }
}
