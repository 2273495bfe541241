package io.xskip.questdb;

import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;

/**
 * The rows of a range of a native piece, as an iterator over batches. Each batch is checked before
 * it is returned: its bytes are those of the transaction. A batch is valid until the next one.
 */
final class PieceRows extends AbstractIterator<Object> implements TaskCompletionListener {
  /** The rows of a batch at most. A check takes as long as the copy of some thousand values. */
  private static final int MAX_ROWS = 1 << 16;

  private final ColumnReader[] readers;
  private final SnapshotCheck check;
  private final PartitionColumns partition;
  private long next;
  private final long end;

  /**
   * Creates an iterator.
   *
   * @param partition the columns that are equal in all rows
   */
  PieceRows(
      ColumnReader[] readers,
      SnapshotCheck check,
      PartitionColumns partition,
      long start,
      long end) {
    this.readers = readers;
    this.check = check;
    this.partition = partition;
    this.next = start;
    this.end = end;
  }

  @Override
  public boolean hasNext() {
    if (next >= end) {
      close();
      return false;
    }
    return true;
  }

  @Override
  public Object next() {
    if (next >= end) {
      throw new NoSuchElementException();
    }
    int count = (int) Math.min(end - next, MAX_ROWS);
    for (ColumnReader reader : readers) {
      count = reader.limit(next, count);
    }
    ColumnVector[] values = new ColumnVector[readers.length];
    for (int i = 0; i < readers.length; i++) {
      values[i] = readers[i].read(next, count);
    }
    check.demandUnchanged();
    for (ColumnReader reader : readers) {
      reader.confirm();
    }
    next += count;
    return new ColumnarBatch(partition.after(values, count), count);
  }

  @Override
  public void onTaskCompletion(TaskContext context) {
    close();
  }

  private void close() {
    for (ColumnReader reader : readers) {
      reader.close();
    }
  }
}
