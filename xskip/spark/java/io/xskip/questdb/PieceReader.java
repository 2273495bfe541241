package io.xskip.questdb;

import java.io.Serializable;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * The function that reads a split of a piece: from {@code PartitionedFile} to an iterator over
 * batches or rows.
 */
final class PieceReader extends AbstractFunction1<Object, Object> implements Serializable {
  private static final long serialVersionUID = 1L;

  private final StructType required;
  private final StructType partitionSchema;
  private final ScanFilters filters;
  private final boolean hasBatches;

  /** Creates a reader, of batches if Spark takes them, of the rows that all filters match. */
  PieceReader(
      StructType required, StructType partitionSchema, ScanFilters filters, boolean hasBatches) {
    this.required = required;
    this.partitionSchema = partitionSchema;
    this.filters = filters;
    this.hasBatches = hasBatches;
  }

  @Override
  public Object apply(Object object) { // erased types: Janino creates no bridge methods
    PartitionedFile file = (PartitionedFile) object;
    Piece piece = PieceIndex.piece(file);
    PartitionColumns partition = new PartitionColumns(partitionSchema, file.partitionValues());
    Iterator<Object> batches =
        piece.isParquet()
            ? ParquetRows.open(piece, required, partition, filters)
            : nativeRows(piece, partition, file);
    TaskContext context = TaskContext.get();
    if (context != null) {
      context.addTaskCompletionListener((TaskCompletionListener) batches);
    }
    return hasBatches ? batches : new BatchRows(batches, piece, required, partitionSchema);
  }

  private Iterator<Object> nativeRows(
      Piece piece, PartitionColumns partition, PartitionedFile file) {
    ColumnReader[] readers = new ColumnReader[required.length()];
    try {
      for (int i = 0; i < readers.length; i++) {
        TableColumn column = piece.snapshot.column(required.apply(i).name());
        readers[i] = columnReader(piece, column, required.apply(i).dataType());
      }
      long[] rows = {
        rowAt(piece, file.start(), file.fileSize()),
        rowAt(piece, file.start() + file.length(), file.fileSize())
      };
      return selected(piece, readers, partition, rows);
    } catch (Throwable t) {
      for (ColumnReader reader : readers) {
        if (reader != null) {
          reader.close();
        }
      }
      throw TableFailure.unreadable(piece.folder, t);
    }
  }

  /** Returns the rows that the range of time and the symbols of filters leave. */
  private PieceRows selected(
      Piece piece, ColumnReader[] readers, PartitionColumns partition, long[] rows) {
    TableColumn timestamp = piece.snapshot.timestamp;
    SnapshotCheck check = new SnapshotCheck(piece);
    if (timestamp != null) {
      long[] inRange = new TimeSearch(piece, timestamp).rows(filters.range.in(piece.snapshot));
      rows[0] = Math.max(rows[0], inRange[0]);
      rows[1] = Math.min(rows[1], inRange[1]);
    }
    boolean[][] keys = new boolean[readers.length][];
    long[] ranges = findKeys(readers, keys) ? ranges(piece, readers, keys, rows) : new long[0];
    PieceRows selected = new PieceRows(piece, readers, keys, check, partition, ranges);
    if (ranges.length == 0) {
      selected.demandUnchanged(); // what shows that no row is needed must be of the transaction too
    }
    return selected;
  }

  /** Returns the ranges of rows that can have wanted symbols, within some bounds. */
  private static long[] ranges(
      Piece piece, ColumnReader[] readers, boolean[][] keys, long[] bounds) {
    if (bounds[0] >= bounds[1]) {
      return new long[0];
    }
    long[] ranges = bounds;
    for (int i = 0; i < readers.length; i++) {
      if (keys[i] != null) {
        long[] found = BitmapIndex.ranges(piece, readers[i].column, keys[i], bounds);
        ranges = found != null && (ranges == bounds || isShorter(found, ranges)) ? found : ranges;
      }
    }
    return ranges;
  }

  private static boolean isShorter(long[] ranges, long[] others) {
    return length(ranges) < length(others);
  }

  private static long length(long[] ranges) {
    long length = 0;
    for (int i = 0; i < ranges.length; i += 2) {
      length += ranges[i + 1] - ranges[i];
    }
    return length;
  }

  /** Finds the keys of the wanted symbols, and returns whether there are any for each filter. */
  private boolean findKeys(ColumnReader[] readers, boolean[][] keys) {
    for (int i = 0; i < readers.length; i++) {
      for (SymbolFilter filter : filters.symbols) {
        if (filter.isFor(readers[i].column)) {
          keys[i] = filter.keys(readers[i].symbols());
          if (keys[i] == null) {
            return false;
          }
        }
      }
    }
    return true;
  }

  // the first row of the split that begins at a byte
  private static long rowAt(Piece piece, long place, long size) {
    return place >= size ? piece.rows : (long) ((double) piece.rows / size * place);
  }

  private static ColumnReader columnReader(Piece piece, TableColumn column, DataType type) {
    return column.width > 0
        ? new FixedReader(piece, column, type)
        : new VariableReader(piece, column, type);
  }
}
