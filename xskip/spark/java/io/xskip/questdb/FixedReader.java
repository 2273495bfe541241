package io.xskip.questdb;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** The reader of a column whose values have a fixed width. */
final class FixedReader extends ColumnReader {
  private final TableFile file;
  private final byte[] absent;
  private byte[] data = new byte[0];
  private Symbols symbols = null;

  FixedReader(Piece piece, TableColumn column, DataType type) {
    super(piece, column, type);
    file = top == Piece.NO_FILES ? null : new TableFile(piece, piece.path(column, "d"));
    absent = absent(column);
  }

  /** Returns the bytes of the value of a row that is older than a column. */
  static byte[] absent(TableColumn column) {
    ByteBuffer value = ByteBuffer.allocate(column.width).order(ByteOrder.LITTLE_ENDIAN);
    switch (column.kind) {
      case "INT":
      case "SYMBOL":
        return value.putInt(Integer.MIN_VALUE).array();
      case "FLOAT":
        return value.putFloat(Float.NaN).array();
      case "DOUBLE":
        return value.putDouble(Double.NaN).array();
      case "GEOHASH":
        Arrays.fill(value.array(), (byte) -1);
        return value.array();
      case "DECIMAL":
        if (column.width < Long.BYTES) {
          value.put(column.width - 1, (byte) Byte.MIN_VALUE);
          return value.array();
        }
        return value.putLong(Long.MIN_VALUE).array();
      case "LONG":
      case "DATE":
      case "TIMESTAMP":
      case "UUID":
      case "LONG128":
      case "LONG256":
        while (value.hasRemaining()) {
          value.putLong(Long.MIN_VALUE);
        }
        return value.array();
      default:
        return value.array();
    }
  }

  /** Returns the vector of values in the form of a column file. */
  static PlainVector vector(TableColumn column, DataType type, byte[] data) {
    PlainVector numbers = NumberVectors.of(column, type, data);
    return numbers == null ? TextVectors.of(column, type, data) : numbers;
  }

  @Override
  int limit(long first, int count) {
    return count;
  }

  @Override
  ColumnVector read(long first, int count) {
    int width = column.width;
    if (data.length < count * width) {
      data = new byte[count * width];
    }
    int missing = missing(first, count);
    for (int row = 0; row < missing; row++) {
      System.arraycopy(absent, 0, data, row * width, width);
    }
    if (missing < count) {
      long from = (first + missing - top) * width;
      file.read(from, data, missing * width, (count - missing) * width);
    }
    if (!column.kind.equals("SYMBOL")) {
      return vector(column, type, data);
    }
    return symbols().vector(type, data, count, piece.folder);
  }

  @Override
  Symbols symbols() {
    if (symbols == null) {
      symbols = Symbols.of(piece, column);
    }
    return symbols;
  }

  @Override
  void confirm() {
    if (symbols != null) {
      symbols.keep(piece, column);
    }
  }

  @Override
  public void close() {
    if (file != null) {
      file.close();
    }
  }
}
