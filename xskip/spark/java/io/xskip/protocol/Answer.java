package io.xskip.protocol;

import io.xskip.common.Bytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Python's answer to a request, in the sections of JVM-AN-1. Malformed bytes are no answer. */
public final class Answer {
  /** The answer that keeps all files. */
  public static final Answer NONE = new Answer(null);

  /** A bit for each file of the snapshot: set if the file certainly holds no matching row. */
  private static final int SKIP = 1;

  /** A bit for each file: set if all rows of the file certainly satisfy the conditions. */
  private static final int WHOLE = 2;

  /** An int64 for each file: its number of rows, or {@link #UNKNOWN_ROWS}. */
  private static final int ROWS = 3;

  /** The bounds and the numbers of NULLs of columns. */
  private static final int COLUMNS = 6;

  /** The number of rows of a file for which the metadata have none. */
  public static final long UNKNOWN_ROWS = -1;

  private static final byte ANSWER = 'A';
  private static final byte REFUSAL = 'E';
  private static final int INDEXES = 2;
  private static final int TOKEN = INDEXES + Integer.BYTES;
  private static final int SECTIONS = TOKEN + Long.BYTES;

  private final byte[] bytes;
  private final ByteBuffer buffer;
  private final int skipStart;
  private final int wholeStart;
  private final int rowsStart;

  private Answer(byte[] bytes) {
    this.bytes = bytes;
    buffer = bytes == null ? null : ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    skipStart = isPresent() ? start(SKIP) : -1;
    wholeStart = isPresent() ? start(WHOLE) : -1;
    rowsStart = isPresent() ? start(ROWS) : -1;
  }

  /** Parses the bytes of Python; null keeps all files. */
  public static Answer parse(byte[] bytes) {
    return new Answer(bytes);
  }

  /** Returns the reason why a query in strict mode fails, or null. */
  public String refusal() {
    return bytes == null || bytes.length == 0 || bytes[0] != REFUSAL
        ? null
        : new String(bytes, 1, bytes.length - 1, StandardCharsets.UTF_8);
  }

  /** Returns this answer if it has a bit for each file of a snapshot, else the empty answer. */
  public Answer about(long token, int count) {
    boolean isUsable =
        skipStart >= 0
            && buffer.getLong(TOKEN) == token
            && buffer.getInt(skipStart - Integer.BYTES) * 8L >= count;
    return isUsable ? this : NONE;
  }

  /** Returns whether the answer states for each file whether it matches wholly, and its rows. */
  public boolean hasFacts(int count) {
    return wholeStart >= 0
        && rowsStart >= 0
        && buffer.getInt(wholeStart - Integer.BYTES) * 8L >= count
        && buffer.getInt(rowsStart - Integer.BYTES) >= (long) count * Long.BYTES;
  }

  private boolean isPresent() {
    return bytes != null && bytes.length >= SECTIONS && bytes[0] == ANSWER;
  }

  /** Returns where the content of a section starts, or -1 if the answer does not have it whole. */
  private int start(int section) {
    int position = SECTIONS;
    while (position + 2 * Integer.BYTES <= bytes.length) {
      int length = buffer.getInt(position + Integer.BYTES);
      int content = position + 2 * Integer.BYTES;
      if (length < 0 || length > bytes.length - content) {
        return -1;
      }
      if (buffer.getInt(position) == section) {
        return content;
      }
      position = content + length;
    }
    return -1;
  }

  /** Returns how many indexes the answer is based on; 0 if it keeps all files. */
  public int indexes() {
    return skipStart < 0 ? 0 : buffer.getInt(INDEXES);
  }

  /** Returns whether the answer depends on partition values. */
  public boolean usesPartitions() {
    return skipStart >= 0 && bytes[1] != 0;
  }

  /** Returns whether the answer skips a file of the snapshot. */
  public boolean skips(int ordinal) {
    return skipStart >= 0 && Bytes.isSet(bytes, skipStart, ordinal);
  }

  /** Returns whether all rows of a file satisfy the conditions, if the answer has facts. */
  public boolean isWhole(int ordinal) {
    return Bytes.isSet(bytes, wholeStart, ordinal);
  }

  /** Returns the section of the columns, or an empty buffer. */
  public ByteBuffer columns() {
    int start = isPresent() ? start(COLUMNS) : -1;
    return start < 0
        ? ByteBuffer.allocate(0)
        : ByteBuffer.wrap(bytes, start, buffer.getInt(start - Integer.BYTES))
            .order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the number of rows of a file, if the answer has facts. */
  public long rows(int ordinal) {
    return buffer.getLong(rowsStart + ordinal * Long.BYTES);
  }
}
