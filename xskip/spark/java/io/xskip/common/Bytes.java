package io.xskip.common;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;

/** Conversions between bytes and the packed numbers and bits that Python and the hook exchange. */
public final class Bytes {
  private Bytes() {}

  /** Returns the little-endian int64 numbers in bytes, without an incomplete last one. */
  public static long[] longs(byte[] bytes) {
    long[] values = new long[bytes.length / Long.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(values);
    return values;
  }

  public static byte[] bytes(long[] values) {
    ByteBuffer buffer =
        ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    buffer.asLongBuffer().put(values);
    return buffer.array();
  }

  /**
   * Returns whether a bit of the bitmap that begins at the byte {@code offset} is set; the lowest
   * bit of a byte is first.
   */
  public static boolean isSet(byte[] bits, int offset, int i) {
    return (bits[offset + (i >>> 3)] & (1 << (i & 7))) != 0;
  }

  /** Returns the SHA-256 of bytes. */
  public static byte[] sha256(byte[] bytes) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(bytes);
    } catch (NoSuchAlgorithmException impossible) { // every JVM has SHA-256
      throw new IllegalStateException(impossible);
    }
  }

  /** Returns bytes in base 64: py4j's own encoding of byte arrays costs Python a step per byte. */
  public static String text(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }
}
