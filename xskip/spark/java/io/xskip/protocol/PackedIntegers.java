package io.xskip.protocol;

import java.nio.ByteBuffer;

/** Integers as differences from the least of them, in as few bytes as all need [JVM-AN-5]. */
public final class PackedIntegers {
  private static final int HEADER = 1 + Long.BYTES;

  private PackedIntegers() {}

  /** Reads integers from the position of a buffer. */
  public static long[] read(ByteBuffer buffer, int count) {
    int width = buffer.get();
    long least = buffer.getLong();
    long[] integers = new long[count];
    for (int i = 0; i < count; i++) {
      integers[i] = least + difference(buffer, width);
    }
    return integers;
  }

  private static long difference(ByteBuffer buffer, int width) {
    switch (width) {
      case 0:
        return 0;
      case 1:
        return buffer.get() & 0xffL;
      case 2:
        return buffer.getShort() & 0xffffL;
      case 4:
        return buffer.getInt() & 0xffffffffL;
      default:
        return buffer.getLong();
    }
  }

  /** Returns whether bytes hold so many integers. */
  static boolean areIn(ByteBuffer buffer, int start, int length, int count) {
    if (length < HEADER) {
      return false;
    }
    int width = buffer.get(start);
    boolean isKnown = width == 0 || width == 1 || width == 2 || width == 4 || width == 8;
    return isKnown && length - HEADER >= (long) width * count;
  }
}
