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

  /** A bit for each unit that is left: set if all of its rows certainly satisfy the conditions. */
  private static final int WHOLE = 2;

  /** An integer for each unit that is left: its number of rows, or {@link #UNKNOWN_ROWS}. */
  private static final int ROWS = 3;

  /** The ranges of the files that are left. */
  private static final int RANGES = 4;

  /** The bounds and the numbers of NULLs of columns in the units that are left. */
  private static final int COLUMNS = 6;

  /** For each predicate a bit for each unit that is left, for "no row", and another for "all". */
  private static final int PREDICATES = 7;

  /** The ranges of the units of the files that are left. */
  private static final int UNITS = 8;

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
  private final int predicatesStart;

  private Answer(byte[] bytes) {
    this.bytes = bytes;
    buffer = bytes == null ? null : ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    skipStart = isPresent() ? start(SKIP) : -1;
    wholeStart = isPresent() ? start(WHOLE) : -1;
    predicatesStart = isPresent() ? start(PREDICATES) : -1;
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

  /**
   * Returns the units of a snapshot that are left; null if the answer does not state whether these
   * match wholly, and their rows.
   */
  public AnswerRanges units(int count) {
    int start = isPresent() ? start(ROWS) : -1;
    if (start < 0 || wholeStart < 0) {
      return null;
    }
    int[] positions = positions(count);
    int left = left(positions);
    AnswerRanges units =
        start(UNITS) < 0 ? AnswerRanges.whole(positions, left) : ranges(UNITS, positions, left);
    boolean isWhole =
        units != null
            && buffer.getInt(wholeStart - Integer.BYTES) * 8L >= units.units()
            && PackedIntegers.areIn(
                buffer, start, buffer.getInt(start - Integer.BYTES), units.units());
    return isWhole ? units : null;
  }

  /** Returns for each file of a snapshot its position among those that are left, or -1. */
  private int[] positions(int count) {
    int[] positions = new int[count];
    int left = 0;
    for (int i = 0; i < count; i++) {
      positions[i] = skips(i) ? AnswerRanges.NOT_LEFT : left;
      left += skips(i) ? 0 : 1;
    }
    return positions;
  }

  private static int left(int[] positions) {
    for (int i = positions.length - 1; i >= 0; i--) {
      if (positions[i] >= 0) {
        return positions[i] + 1;
      }
    }
    return 0;
  }

  /** Returns whether the answer has ranges of files. */
  public boolean hasRanges() {
    return skipStart >= 0 && start(RANGES) >= 0;
  }

  /**
   * Returns the ranges of the files of a snapshot, or null if the query reads all files whole, or
   * if the section is malformed.
   */
  public AnswerRanges ranges(int count) {
    if (!hasRanges()) {
      return null;
    }
    int[] positions = positions(count);
    return ranges(RANGES, positions, left(positions));
  }

  private AnswerRanges ranges(int section, int[] positions, int left) {
    try {
      return AnswerRanges.read(section(section), positions, left);
    } catch (RuntimeException e) { // whole files are read then
      return null;
    }
  }

  /** Returns the numbers of rows of the units that are left. */
  public long[] rows(int left) {
    return PackedIntegers.read(section(ROWS), left);
  }

  /** Returns whether the answer has a section of facts; {@link #units} checks it. */
  public boolean hasFacts() {
    return wholeStart >= 0;
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

  /** Returns whether all rows of a unit that is left satisfy the conditions. */
  public boolean isWhole(int position) {
    return Bytes.isSet(bytes, wholeStart, position);
  }

  /** Returns whether all rows of one of the units that are left satisfy a predicate. */
  public boolean matchesWholly(int position, int predicate, int left) {
    return isSet(2 * predicate + 1, position, left);
  }

  /** Returns whether no row of one of the units that are left satisfies a predicate. */
  public boolean matchesNowhere(int position, int predicate, int left) {
    return isSet(2 * predicate, position, left);
  }

  /** Returns a bit of one of the masks of the predicates; false if the answer does not have it. */
  private boolean isSet(int mask, int position, int left) {
    int length = (left + 7) / 8;
    boolean isThere =
        predicatesStart >= 0
            && (mask + 1) * (long) length <= buffer.getInt(predicatesStart - Integer.BYTES);
    return isThere && Bytes.isSet(bytes, predicatesStart + mask * length, position);
  }

  /** Returns the section of the columns, or an empty buffer. */
  public ByteBuffer columns() {
    return section(COLUMNS);
  }

  private ByteBuffer section(int number) {
    int start = isPresent() ? start(number) : -1;
    return start < 0
        ? ByteBuffer.allocate(0)
        : ByteBuffer.wrap(bytes, start, buffer.getInt(start - Integer.BYTES))
            .order(ByteOrder.LITTLE_ENDIAN);
  }
}
