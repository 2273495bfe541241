package io.xskip.snapshot;

import io.xskip.common.Bytes;
import java.nio.ByteBuffer;

/**
 * The bytes of an answer of Python:
 *
 * <ul>
 *   <li>one byte: {@code 'P'} if the answer depends on partition values, else {@code 'B'}
 *   <li>int64, big-endian: the token of the snapshot that the answer refers to
 *   <li>int32, big-endian: how many indexes the answer is based on
 *   <li>a bitmap, the lowest bit of each byte first: a set bit skips the file with this ordinal
 * </ul>
 *
 * Any other bytes keep all files.
 */
final class SkipBits {
  private static final int INDEXES = 1 + Long.BYTES;
  private static final int HEADER = INDEXES + Integer.BYTES;

  /** The bytes of the answer; null to keep all files. */
  private final byte[] bytes;

  private SkipBits(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Parses an answer.
   *
   * @param bytes the answer, or null
   * @param snapshot the present snapshot of the index, or null
   */
  static SkipBits parse(byte[] bytes, FileSnapshot snapshot) {
    return new SkipBits(isUsable(bytes, snapshot) ? bytes : null);
  }

  private static boolean isUsable(byte[] bytes, FileSnapshot snapshot) {
    return bytes != null
        && bytes.length >= HEADER
        && (bytes[0] == 'B' || bytes[0] == 'P')
        && snapshot != null
        && ByteBuffer.wrap(bytes, 1, Long.BYTES).getLong() == snapshot.token()
        && (bytes.length - HEADER) * 8L >= snapshot.count();
  }

  /** Returns how many indexes the answer is based on; 0 if it keeps all files. */
  int indexes() {
    return bytes == null ? 0 : ByteBuffer.wrap(bytes, INDEXES, Integer.BYTES).getInt();
  }

  /** Returns whether the answer depends on partition values. */
  boolean usesPartitions() {
    return bytes != null && bytes[0] == 'P';
  }

  /** Returns whether the answer skips a file of the snapshot. */
  boolean skips(int ordinal) {
    return bytes != null && Bytes.isSet(bytes, HEADER, ordinal);
  }
}
