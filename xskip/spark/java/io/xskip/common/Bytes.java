package io.xskip.common;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;

/** Conversions between bytes and the packed numbers and bits that Python and the hook exchange. */
public final class Bytes {
  private Bytes() {}

  /**
   * Returns the little-endian int64 numbers in {@code bytes}; ignores an incomplete last number.
   */
  public static long[] longs(byte[] bytes) {
    long[] values = new long[bytes.length / Long.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(values);
    return values;
  }

  /** Returns numbers as little-endian int64. */
  public static byte[] bytes(long[] values) {
    ByteBuffer buffer =
        ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    buffer.asLongBuffer().put(values);
    return buffer.array();
  }

  /**
   * Returns whether a bit of a bitmap is set.
   *
   * @param bits the bytes that contain the bitmap, the lowest bit of each byte first
   * @param offset the position of the bitmap's first byte
   * @param i the position of the bit in the bitmap
   */
  public static boolean isSet(byte[] bits, int offset, int i) {
    return (bits[offset + (i >>> 3)] & (1 << (i & 7))) != 0;
  }

  /**
   * Returns bytes in base 64. py4j's own encoding of byte arrays costs Python a step per byte, so
   * the hook returns large byte arrays as strings.
   */
  public static String text(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }
}
