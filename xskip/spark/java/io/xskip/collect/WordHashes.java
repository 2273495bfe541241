package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.unsafe.Platform;

/**
 * The hashes of the words of a string: its longest runs of bytes that are ASCII letters, digits,
 * underscores, or not ASCII.
 */
public class WordHashes extends BloomHashes {
  WordHashes(int items, double logRate) {
    super(items, logRate);
  }

  void add(SpecializedGetters r, int at) {
    byte[] b = r.getUTF8String(at).getBytes();
    for (int start = 0, i = 0; i <= b.length; i++) {
      if (i < b.length && isOfWord(b[i])) continue;
      if (i > start) bytes(b, Platform.BYTE_ARRAY_OFFSET + start, i - start);
      start = i + 1;
    }
  }

  private static boolean isOfWord(byte b) {
    return b < 0
        || b == '_'
        || b >= '0' && b <= '9'
        || b >= 'a' && b <= 'z'
        || b >= 'A' && b <= 'Z';
  }
}
