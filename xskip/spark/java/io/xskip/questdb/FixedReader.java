package io.xskip.questdb;

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
    absent = FixedKinds.absent(column);
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
      return FixedKinds.vector(column, type, data);
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
      symbols.keep();
    }
  }

  @Override
  public void close() {
    if (file != null) {
      file.close();
    }
  }
}
