package io.xskip.questdb;

import java.util.Arrays;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** The vector of a STRING, VARCHAR or BINARY column. Rules: [QDB-TY-1]. */
final class VariableVector extends PlainVector {
  static final int ENTRY_BYTES = 16; // of a VARCHAR or an ARRAY
  static final int INLINED = 1; // flags of a VARCHAR in the first byte
  static final int NULL = 4;

  private static final int STRING_HEAD = Integer.BYTES;
  private static final int BINARY_HEAD = Long.BYTES;

  private final boolean isVarchar;
  private final boolean isString;
  private final byte[] entries; // of the file .i, in which a VARCHAR has its short values
  private final Ranges ranges;
  private final String path; // of the values, for errors

  VariableVector(
      String kind, DataType type, byte[] data, byte[] entries, Ranges ranges, String path) {
    super(type, data);
    this.isVarchar = kind.equals("VARCHAR");
    this.isString = kind.equals("STRING");
    this.entries = entries;
    this.ranges = ranges;
    this.path = path;
  }

  @Override
  public boolean isNullAt(int row) {
    if (row < ranges.missing) {
      return true;
    }
    return isVarchar ? (entries[entry(row)] & NULL) != 0 : length(row) < 0;
  }

  /** Returns the length before a value: units of a STRING, bytes of a BINARY, or -1 for null. */
  private long length(int row) {
    int head = isString ? STRING_HEAD : BINARY_HEAD;
    if (ranges.length(row) < head) {
      throw contradiction(row);
    }
    long length = isString ? intAt(ranges.start(row)) : longAt(ranges.start(row));
    long stored = ranges.length(row) - head;
    if (length < -1 || (length >= 0 && (isString ? 2 * length : length) != stored)) {
      throw contradiction(row);
    }
    return length;
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (!isVarchar) {
      return Texts.ofUtf16(data, ranges.start(row) + STRING_HEAD, (int) length(row));
    }
    int entry = entry(row);
    if ((entries[entry] & INLINED) != 0) {
      int length = entries[entry] >> 4 & 15;
      demandText(entries, entry + 1, length);
      return UTF8String.fromBytes(Arrays.copyOfRange(entries, entry + 1, entry + 1 + length));
    }
    demandText(data, ranges.start(row), ranges.length(row));
    return UTF8String.fromBytes(data, ranges.start(row), ranges.length(row));
  }

  private void demandText(byte[] bytes, int start, int length) {
    if (!Texts.isUtf8(bytes, start, length)) {
      throw TableFailure.damaged(path, "it has text that is not UTF-8");
    }
  }

  private int entry(int row) {
    return ENTRY_BYTES * (row - ranges.missing);
  }

  @Override
  public byte[] getBinary(int row) {
    int start = ranges.start(row) + BINARY_HEAD;
    return Arrays.copyOfRange(data, start, start + (int) length(row));
  }

  private RuntimeException contradiction(int row) {
    return TableFailure.damaged(path, "the lengths of row " + row + " contradict each other");
  }
}
