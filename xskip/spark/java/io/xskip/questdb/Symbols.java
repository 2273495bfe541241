package io.xskip.questdb;

import io.xskip.common.Bytes;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;

/** The values of a SYMBOL column by key. Rules: [QDB-TY-8]. */
final class Symbols {
  private static final int HEADER_BYTES = 64;
  private static final int LENGTH_BYTES = Integer.BYTES;
  private static final int MAX_DICTIONARIES = 16;
  private static final int MAX_KEPT_SYMBOLS = 1 << 18;
  private static final float LOAD_FACTOR = 0.75f;
  private static final Map<String, Symbols> KNOWN =
      new LinkedHashMap<>(MAX_DICTIONARIES, LOAD_FACTOR, true);

  private final UTF8String[] values;

  private Symbols(UTF8String[] values) {
    this.values = values;
  }

  /** Returns the symbols of a column, which this process may have read for another piece. */
  static Symbols of(Piece piece, TableColumn column) {
    synchronized (KNOWN) {
      Symbols known = (Symbols) KNOWN.get(key(piece, column));
      if (known != null) {
        return known;
      }
    }
    return read(piece, column);
  }

  int count() {
    return values.length;
  }

  UTF8String value(int key) {
    return values[key];
  }

  /** Keeps symbols for other pieces, after a check that no server has cut their files. */
  void keep(Piece piece, TableColumn column) {
    if (values.length > MAX_KEPT_SYMBOLS) {
      return;
    }
    synchronized (KNOWN) {
      KNOWN.put(key(piece, column), this);
      if (KNOWN.size() > MAX_DICTIONARIES) {
        KNOWN.remove(KNOWN.keySet().iterator().next());
      }
    }
  }

  private static String key(Piece piece, TableColumn column) {
    TableSnapshot snapshot = piece.snapshot;
    return path(piece, column, "o")
        + "\u0000"
        + snapshot.tableId
        + "/"
        + snapshot.truncateVersion
        + "/"
        + column.symbolCount;
  }

  private static String path(Piece piece, TableColumn column, String extension) {
    String path = piece.snapshot.data + "/" + column.name + "." + extension;
    return column.symbolTxn >= 0 ? path + "." + column.symbolTxn : path;
  }

  private static Symbols read(Piece piece, TableColumn column) {
    if (column.symbolCount == 0) {
      return new Symbols(new UTF8String[0]);
    }
    TableFile offsets = new TableFile(piece, path(piece, column, "o"));
    try {
      TableFile content = new TableFile(piece, path(piece, column, "c"));
      try {
        return read(piece, column.symbolCount, offsets, content);
      } finally {
        content.close();
      }
    } finally {
      offsets.close();
    }
  }

  /** Reads symbols; a truncation cuts the offsets first, so that they are read once more. */
  private static Symbols read(Piece piece, int count, TableFile offsets, TableFile content) {
    byte[] packed = new byte[Long.BYTES * (count + 1)];
    offsets.read(HEADER_BYTES, packed, packed.length);
    long[] places = Bytes.longs(packed);
    if (places[0] != 0 || places[count] < 0 || places[count] > Integer.MAX_VALUE - Long.BYTES) {
      throw contradiction(offsets);
    }
    byte[] values = new byte[(int) places[count]];
    content.read(0, values, values.length);
    if (offsets.readLong(HEADER_BYTES + Long.BYTES * (long) count) != places[count]) {
      throw TableFailure.changed(piece, "a server truncates the table");
    }
    UTF8String[] symbols = new UTF8String[count];
    for (int i = 0; i < count; i++) {
      long units = (places[i + 1] - places[i] - LENGTH_BYTES) / 2;
      if (places[i] < 0 || units < 0 || units != lengthAt(values, (int) places[i])) {
        throw contradiction(content);
      }
      symbols[i] = Texts.ofUtf16(values, (int) places[i] + LENGTH_BYTES, (int) units);
    }
    return new Symbols(symbols);
  }

  private static int lengthAt(byte[] content, int at) {
    return (content[at] & 0xFF)
        | (content[at + 1] & 0xFF) << 8
        | (content[at + 2] & 0xFF) << 16
        | content[at + 3] << 24;
  }

  private static RuntimeException contradiction(TableFile file) {
    return TableFailure.damaged(
        file.path(), "the files with the values of a SYMBOL column contradict each other");
  }

  /** Returns the vector of the symbols whose keys are in the bytes of a column file. */
  PlainVector vector(DataType type, byte[] keys, int rows, String path) {
    Vector vector = new Vector(type, keys, values);
    for (int row = 0; row < rows; row++) {
      int key = vector.key(row);
      if (key >= values.length || (key < 0 && key != Integer.MIN_VALUE)) {
        throw TableFailure.damaged(
            path, "it has the key " + key + " of " + values.length + " symbols");
      }
    }
    return vector;
  }

  /** Returns whether a vector of symbols has one of some keys. */
  static boolean hasAny(ColumnVector vector, int rows, boolean[] keys) {
    Vector symbols = (Vector) vector;
    for (int row = 0; row < rows; row++) {
      int key = symbols.key(row);
      if (key >= 0 && keys[key]) {
        return true;
      }
    }
    return false;
  }

  private static final class Vector extends PlainVector {
    private final UTF8String[] values;

    Vector(DataType type, byte[] data, UTF8String[] values) {
      super(type, data);
      this.values = values;
    }

    int key(int row) {
      return intAt(row << 2);
    }

    @Override
    public boolean isNullAt(int row) {
      return key(row) < 0;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return values[key(row)];
    }
  }
}
