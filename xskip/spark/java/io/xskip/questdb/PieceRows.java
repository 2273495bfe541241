package io.xskip.questdb;

import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;

/**
 * The rows of ranges of a native piece, as an iterator over batches, each of which is valid until
 * the next one.
 */
final class PieceRows extends AbstractIterator<Object> implements TaskCompletionListener {
  // of a batch; a check takes as long as the copy of some thousand values
  private static final int MAX_ROWS = 1 << 16;

  private ColumnReader[] readers;
  private final Piece piece;
  private final boolean[][] wantedKeys; // for each reader the keys of which a row has one, or null
  private final SnapshotCheck check;
  private final PartitionColumns partition; // the columns that are equal in all rows
  private final long[] ranges; // the first row and the first row after each range, in order
  private int range = 0;
  private long next;
  private ColumnarBatch batch = null;

  PieceRows(
      Piece piece,
      ColumnReader[] readers,
      boolean[][] wantedKeys,
      SnapshotCheck check,
      PartitionColumns partition,
      long[] ranges) {
    this.piece = piece;
    this.readers = readers;
    this.wantedKeys = wantedKeys;
    this.check = check;
    this.partition = partition;
    this.ranges = ranges;
    this.next = ranges.length == 0 ? 0 : ranges[0];
  }

  @Override
  public boolean hasNext() {
    while (batch == null && hasRows()) {
      load();
    }
    if (batch == null) {
      close();
    }
    return batch != null;
  }

  /** Goes to the next range if all rows of one were read, and returns whether rows are left. */
  private boolean hasRows() {
    if (range < ranges.length && next >= ranges[range + 1]) {
      range += 2;
      next = range < ranges.length ? ranges[range] : next;
    }
    return range < ranges.length;
  }

  @Override
  public Object next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    ColumnarBatch loaded = batch;
    batch = null;
    return loaded;
  }

  /** Reads the next batch, unless no row of it has the wanted symbols. */
  private void load() {
    try {
      loadBatch();
    } catch (RuntimeException e) {
      throw TableFailure.unreadable(piece.folder, e);
    }
  }

  private void loadBatch() {
    int count = (int) Math.min(ranges[range + 1] - next, MAX_ROWS);
    ColumnVector[] values = new ColumnVector[readers.length];
    boolean isWanted = true;
    for (int i = 0; i < readers.length && isWanted; i++) {
      if (wantedKeys[i] != null) {
        values[i] = readers[i].read(next, count);
        isWanted = Symbols.hasAny(values[i], count, wantedKeys[i]);
      }
    }
    if (isWanted) {
      for (ColumnReader reader : readers) {
        count = reader.limit(next, count);
      }
      for (int i = 0; i < readers.length; i++) {
        values[i] = values[i] == null ? readers[i].read(next, count) : values[i];
      }
    }
    demandUnchanged();
    next += count;
    batch = isWanted ? new ColumnarBatch(partition.after(values, count), count) : null;
  }

  /** Fails unless all that was read so far is of the transaction. */
  void demandUnchanged() {
    check.demandUnchanged();
    for (ColumnReader reader : readers) {
      reader.confirm();
    }
  }

  @Override
  public void onTaskCompletion(TaskContext context) {
    close();
  }

  private void close() {
    for (ColumnReader reader : readers) {
      reader.close();
    }
    readers = new ColumnReader[0]; // the task keeps its listeners, and readers hold values
  }
}
