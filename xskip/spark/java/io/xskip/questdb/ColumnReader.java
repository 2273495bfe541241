package io.xskip.questdb;

import java.io.Closeable;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** The reader of a column of a native piece, in ranges of rows. Rules: [QDB-RD]. */
abstract class ColumnReader implements Closeable {
  protected final Piece piece;
  protected final TableColumn column;
  protected final DataType type;
  protected final long top; // the number of rows at the start that are older than the column

  ColumnReader(Piece piece, TableColumn column, DataType type) {
    this.piece = piece;
    this.column = column;
    this.type = type;
    this.top = piece.top(column);
  }

  /** Returns how many of some rows are read at once at most, at least one. */
  abstract int limit(long first, int count);

  /** Returns the values of a range of rows; the next call can overwrite them. */
  abstract ColumnVector read(long first, int count);

  @Override
  public abstract void close();

  Symbols symbols() { // of a SYMBOL column
    throw new UnsupportedOperationException(column.kind);
  }

  /** Tells the reader that what it has read so far was of the transaction. */
  void confirm() {}

  // the number of rows at the start of a range that are older than the column
  protected final int missing(long first, int count) {
    return (int) Math.min(Math.max(top - first, 0), count);
  }
}
