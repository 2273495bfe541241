package io.xskip.questdb;

import io.xskip.common.Bytes;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** The reader of a column whose values vary in size: STRING, BINARY, VARCHAR and ARRAY. */
final class VariableReader extends ColumnReader {
  // the bytes of values that are read at once; more only for a single longer value
  private static final long MAX_BYTES = 32L << 20;
  private static final long OFFSET_MASK = (1L << 48) - 1;

  private final TableFile values;
  private final TableFile entries;

  // the entries of some rows of the files, and the places of their values
  private byte[] raw = new byte[0];
  private long[] starts = new long[0];
  private long[] ends = new long[0];
  private long firstLoaded = 0;
  private int loaded = 0;

  // the values of some of these rows, and the places of the first and after the last one
  private byte[] data = new byte[0];
  private long least = 0;
  private long greatest = 0;

  VariableReader(Piece piece, TableColumn column, DataType type) {
    super(piece, column, type);
    boolean hasFiles = top != Piece.NO_FILES;
    values = hasFiles ? new TableFile(piece, piece.path(column, "d")) : null;
    entries = hasFiles ? opened(piece.path(column, "i")) : null;
  }

  private TableFile opened(String path) {
    boolean isOpen = false;
    try {
      TableFile file = new TableFile(piece, path);
      isOpen = true;
      return file;
    } finally {
      if (!isOpen) { // the second file failed
        values.close();
      }
    }
  }

  @Override
  int limit(long first, int count) {
    int missing = missing(first, count);
    if (missing == count) {
      return count;
    }
    load(first + missing - top, count - missing);
    return Math.max(1, missing + span(count - missing, MAX_BYTES));
  }

  @Override
  ColumnVector read(long first, int count) {
    int missing = missing(first, count);
    int present = count - missing;
    if (present > 0) {
      load(first + missing - top, present);
      readValues(present);
    }
    Ranges ranges = new Ranges(missing, present, starts, ends, least, data);
    if (column.kind.equals("ARRAY")) {
      return ArrayValues.vector(type, column.size, ranges, path());
    }
    return new VariableVector(column.kind, type, data, raw, ranges, path());
  }

  private String path() {
    return values == null ? piece.folder : values.path();
  }

  /** Reads the places of the values of some rows of the files, unless they are known. */
  private void load(long row, int count) {
    if (row == firstLoaded && count <= loaded) {
      return;
    }
    if (starts.length < count) {
      starts = new long[count];
      ends = new long[count];
    }
    loadPlaces(row, count);
    firstLoaded = row;
    loaded = count;
  }

  private void loadPlaces(long row, int count) {
    if (column.kind.equals("STRING") || column.kind.equals("BINARY")) {
      raw = sized(raw, Long.BYTES * (count + 1));
      entries.read(Long.BYTES * row, raw, raw.length);
      long[] offsets = Bytes.longs(raw);
      for (int i = 0; i < count; i++) {
        setRange(i, offsets[i], offsets[i + 1]);
      }
      return;
    }
    raw = sized(raw, VariableVector.ENTRY_BYTES * count);
    entries.read(VariableVector.ENTRY_BYTES * row, raw, raw.length);
    long[] words = Bytes.longs(raw);
    for (int i = 0; i < count; i++) {
      long head = words[2 * i];
      long tail = words[2 * i + 1];
      if (column.kind.equals("ARRAY")) {
        long start = head & OFFSET_MASK;
        setRange(i, start, start + (tail & 0xFFFFFFFFL));
      } else {
        boolean isStored = (head & (VariableVector.INLINED | VariableVector.NULL)) == 0;
        long start = tail >>> 16;
        setRange(i, isStored ? start : 0, isStored ? start + ((head & 0xFFFFFFFFL) >>> 4) : 0);
      }
    }
    if (!Ranges.areDisjoint(starts, ends, count)) {
      throw contradiction();
    }
  }

  private static byte[] sized(byte[] bytes, int length) {
    return bytes.length == length ? bytes : new byte[length];
  }

  private void setRange(int i, long start, long end) {
    if (start < 0 || end < start) {
      throw contradiction();
    }
    starts[i] = start;
    ends[i] = end;
  }

  private RuntimeException contradiction() {
    return TableFailure.damaged(path(), "it contradicts " + entries.path());
  }

  /** Finds where the first values lie, and returns how many of them lie in so many bytes. */
  private int span(int count, long bytes) {
    least = Long.MAX_VALUE;
    greatest = 0;
    for (int row = 0; row < count; row++) {
      if (ends[row] > starts[row]) {
        least = Math.min(least, starts[row]);
        greatest = Math.max(greatest, ends[row]);
        if (greatest - least > bytes) {
          return row;
        }
      }
    }
    least = Math.min(least, greatest); // 0 if no value has bytes
    return count;
  }

  private void readValues(int count) {
    if (span(count, Integer.MAX_VALUE - Long.BYTES) < count) {
      throw TableFailure.damaged(path(), "it has a value of " + (greatest - least) + " bytes");
    }
    int length = (int) (greatest - least);
    if (data.length < length) {
      data = new byte[length];
    }
    values.read(least, data, length);
  }

  @Override
  public void close() {
    if (values != null) {
      values.close();
      entries.close();
    }
  }
}
