package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.unsafe.Platform;

/**
 * As {@link BloomHashes}, of the words: longest runs of ASCII letters, digits, underscores and
 * bytes that are not ASCII.
 */
final class WordHashes extends BloomHashes {
  WordHashes(ValueType type, int expectedValues, double logRate) {
    super(type, expectedValues, logRate);
  }

  @Override
  void add(SpecializedGetters row, int column) {
    byte[] bytes = row.getUTF8String(column).getBytes();
    int start = 0;
    for (int i = 0; i <= bytes.length; i++) {
      if (i < bytes.length && isWordByte(bytes[i])) {
        continue;
      }
      if (i > start) {
        addBytes(bytes, Platform.BYTE_ARRAY_OFFSET + start, i - start);
      }
      start = i + 1;
    }
  }

  private static boolean isWordByte(byte b) {
    return b < 0 // not ASCII
        || b == '_'
        || (b >= '0' && b <= '9')
        || (b >= 'a' && b <= 'z')
        || (b >= 'A' && b <= 'Z');
  }
}
