package io.xskip.questdb;

import io.xskip.common.Bytes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The bitmap index of a SYMBOL column in a native piece, which gives the rows of a key. Rules:
 * [QDB-IX].
 */
final class BitmapIndex {
  private static final byte SIGNATURE = (byte) 0xFA;
  private static final int HEADER_BYTES = 64;
  private static final int BLOCK_VALUES = 17;
  private static final int KEY_COUNT = 21;
  private static final int ENTRY_BYTES = 32;
  private static final int LAST_BLOCK = 16;
  private static final int COUNT_CHECK = 24;

  // With more keys or more rows, a read of the column itself takes less time.
  private static final int MAX_KEYS = 64;
  private static final int ROWS_PER_MATCH = 256;

  // the rows between two matches that are read with them, because a read of its own takes longer
  private static final int MAX_GAP = 1 << 13;

  private final TableFile keys;
  private final TableFile values;
  private final long from;
  private final long to;
  private final int blockValues;
  private final int keyCount;
  private long[] rows = new long[64];
  private int count = 0;

  private BitmapIndex(TableFile keys, TableFile values, long from, long to) {
    this.keys = keys;
    this.values = values;
    this.from = from;
    this.to = to;
    ByteBuffer header = read(keys, 0, HEADER_BYTES);
    blockValues = header.getInt(BLOCK_VALUES);
    keyCount = header.getInt(KEY_COUNT);
    if (header.get(0) != SIGNATURE || Integer.bitCount(blockValues) != 1 || blockValues < 0) {
      throw TableFailure.damaged(keys.path(), "it is no bitmap index");
    }
  }

  /**
   * Returns ranges, as first row and first row after each, with all rows of the wanted keys; null
   * if the column is to be read.
   */
  static long[] ranges(Piece piece, TableColumn column, boolean[] wanted, long[] bounds) {
    // bounds: the first row, and the first row after those that count
    if (!column.isIndexed || number(wanted) > MAX_KEYS) {
      return null;
    }
    if (piece.top(column) == Piece.NO_FILES) {
      return new long[0];
    }
    try {
      TableFile keys = new TableFile(piece, piece.path(column, "k"));
      try {
        TableFile values = new TableFile(piece, piece.path(column, "v"));
        try {
          BitmapIndex index = new BitmapIndex(keys, values, bounds[0], bounds[1]);
          boolean isComplete = index.hasRows(piece.rows - piece.top(column));
          return isComplete ? index.ranges(wanted) : null;
        } finally {
          values.close();
        }
      } finally {
        keys.close();
      }
    } catch (Exception e) {
      return null; // the column itself has all that the index has
    }
  }

  private static int number(boolean[] wanted) {
    int number = 0;
    for (boolean each : wanted) {
      number += each ? 1 : 0;
    }
    return number;
  }

  // Whether all keys together have as many rows as the column. An index with so many keys that this
  // takes a large part of a read of the column does not pay.
  private boolean hasRows(long number) {
    if (keyCount < 0 || (long) keyCount * ENTRY_BYTES > number * Integer.BYTES / 2) {
      return false;
    }
    ByteBuffer entries = read(keys, HEADER_BYTES, keyCount * ENTRY_BYTES);
    long sum = 0;
    for (int entry = 0; entry < keyCount; entry++) {
      sum += entries.getLong(ENTRY_BYTES * entry);
    }
    return sum >= number;
  }

  private long[] ranges(boolean[] wanted) {
    for (int key = 0; key < wanted.length; key++) {
      if (wanted[key] && key + 1 < keyCount && !add(key + 1)) {
        return null;
      }
    }
    Arrays.sort(rows, 0, count);
    long[] ranges = new long[2 * count];
    int length = 0;
    for (int i = 0; i < count; i++) {
      if (length > 0 && rows[i] - ranges[length - 1] < MAX_GAP) {
        ranges[length - 1] = rows[i] + 1;
      } else {
        ranges[length++] = rows[i];
        ranges[length++] = rows[i] + 1;
      }
    }
    return Arrays.copyOf(ranges, length);
  }

  /** Adds the rows of an entry, and returns false if the index is written or does not pay. */
  private boolean add(int entry) {
    long place = HEADER_BYTES + (long) ENTRY_BYTES * entry;
    // A server that appends raises the number of rows first and then writes the last block, so that
    // an entry that is the same before and after the read of its blocks is whole. The blocks are a
    // chain that is read from its end.
    ByteBuffer before = read(keys, place, ENTRY_BYTES);
    long left = before.getLong(0);
    if ((int) left != before.getInt(COUNT_CHECK)) {
      return false;
    }
    long block = before.getLong(LAST_BLOCK);
    long last = Long.MAX_VALUE;
    while (left > 0 && last > from) {
      int used = (int) ((left - 1) & (blockValues - 1)) + 1;
      byte[] bytes = new byte[Long.BYTES * (blockValues + 1)];
      values.read(block, bytes, bytes.length);
      long[] numbers = Bytes.longs(bytes);
      for (int i = used - 1; i >= 0; i--) {
        if (numbers[i] < 0 || numbers[i] >= last) {
          return false;
        }
        last = numbers[i];
        addRow(last);
      }
      if ((long) count * ROWS_PER_MATCH > to - from) {
        return false;
      }
      block = numbers[blockValues];
      left -= used;
    }
    return read(keys, place, ENTRY_BYTES).equals(before);
  }

  private void addRow(long row) {
    if (row < from || row >= to) {
      return;
    }
    if (count == rows.length) {
      rows = Arrays.copyOf(rows, 2 * count);
    }
    rows[count++] = row;
  }

  private static ByteBuffer read(TableFile file, long from, int length) {
    byte[] bytes = new byte[length];
    file.read(from, bytes, length);
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
