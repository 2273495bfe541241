package io.xskip.questdb;

import io.xskip.common.Bytes;
import java.lang.ref.SoftReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.types.UTF8String;

/** The values of a SYMBOL column by key. Rules: [QDB-TY-8]. */
final class Symbols {
  private static final int HEADER_BYTES = 64;
  private static final int LENGTH_BYTES = Integer.BYTES;
  private static final String[] EXTENSIONS = {"o", "c"};
  private static final Symbols NONE = new Symbols("", new UTF8String[0]);

  private static final String FILE_STATE = "unix:dev,ino,ctime"; // changes with each write
  private static final int MAX_COLUMNS = 16;
  private static final float LOAD_FACTOR = 0.75f;

  // the symbols that were read last, as long as the JVM needs no memory for others
  private static final Map<String, SoftReference<Symbols>> KNOWN =
      new LinkedHashMap<>(MAX_COLUMNS, LOAD_FACTOR, true);

  private final String key;
  private final UTF8String[] values;

  private Symbols(String key, UTF8String[] values) {
    this.key = key;
    this.values = values;
  }

  /** Returns the symbols of a column, which this process may have read for another piece. */
  static Symbols of(Piece piece, TableColumn column) {
    if (column.symbolCount == 0) {
      return NONE;
    }
    String key = key(piece, column);
    Symbols known = null;
    synchronized (KNOWN) {
      SoftReference<Symbols> kept = (SoftReference<Symbols>) KNOWN.get(key);
      known = kept == null ? null : (Symbols) kept.get();
    }
    return known == null ? new Symbols(key, read(piece, column)) : known;
  }

  int count() {
    return values.length;
  }

  UTF8String value(int key) {
    return values[key];
  }

  /** Keeps symbols for other pieces, after a check that no server has cut their files. */
  void keep() {
    if (this == NONE) {
      return;
    }
    synchronized (KNOWN) {
      KNOWN.put(key, new SoftReference<Symbols>(this));
      if (KNOWN.size() > MAX_COLUMNS) {
        KNOWN.remove(KNOWN.keySet().iterator().next());
      }
    }
  }

  private static String key(Piece piece, TableColumn column) {
    TableSnapshot snapshot = piece.snapshot; // another table with the same numbers can be restored
    StringBuilder key = new StringBuilder();
    key.append(snapshot.tableId).append('/').append(snapshot.truncateVersion);
    key.append('/').append(column.symbolCount);
    for (String extension : EXTENSIONS) {
      String path = path(piece, column, extension);
      key.append('/')
          .append(path)
          .append('/')
          .append(TableFile.attributes(piece, path, FILE_STATE));
    }
    return key.toString();
  }

  private static String path(Piece piece, TableColumn column, String extension) {
    String path = piece.snapshot.data + "/" + column.name + "." + extension;
    return column.symbolTxn >= 0 ? path + "." + column.symbolTxn : path;
  }

  private static UTF8String[] read(Piece piece, TableColumn column) {
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
  private static UTF8String[] read(Piece piece, int count, TableFile offsets, TableFile content) {
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
    ByteBuffer lengths = ByteBuffer.wrap(values).order(ByteOrder.LITTLE_ENDIAN);
    UTF8String[] symbols = new UTF8String[count];
    for (int i = 0; i < count; i++) {
      int start = (int) places[i];
      long bytes = places[i + 1] - start - LENGTH_BYTES;
      boolean isWithin = bytes >= 0 && places[i + 1] <= values.length;
      if (!isWithin || bytes != 2L * lengths.getInt(start)) {
        throw contradiction(content);
      }
      symbols[i] = Texts.ofUtf16(values, start + LENGTH_BYTES, (int) bytes / 2);
    }
    return symbols;
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
