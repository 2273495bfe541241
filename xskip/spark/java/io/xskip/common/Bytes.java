package io.xskip.common;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;

/** Packed numbers. */
public class Bytes {
  public static long[] longs(byte[] b) {
    long[] r = new long[b.length / 8];
    ByteBuffer.wrap(b).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(r);
    return r;
  }

  public static byte[] bytes(long[] v) {
    ByteBuffer b = ByteBuffer.allocate(v.length * 8).order(ByteOrder.LITTLE_ENDIAN);
    b.asLongBuffer().put(v);
    return b.array();
  }

  /** A bit of some that begin at a byte, the lowest of each byte first. */
  public static boolean isSet(byte[] bits, int from, int i) {
    return (bits[from + (i >>> 3)] & 1 << (i & 7)) != 0;
  }

  /** In base 64: what py4j itself does to bytes takes Python a step for each of them. */
  public static String text(byte[] b) {
    return Base64.getEncoder().encodeToString(b);
  }
}
