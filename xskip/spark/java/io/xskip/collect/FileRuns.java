package io.xskip.collect;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The results of accumulators for each run of rows of the same file.
 *
 * <p>The input consists of rows, or of column batches, each of which has rows of a single file. A
 * scan reuses the memory of a row or batch for the next one, so the accumulators receive each of
 * them before this iterator requests the next.
 */
final class FileRuns implements Iterator<InternalRow> {
  private final Iterator<?> pieces;
  private final Accumulator[] accumulators;

  /** The position in the rows of each accumulator's column. */
  private final int[] columns;

  private final int ordinalColumn;
  private final Set<Integer> splitFiles;

  /** The number of result columns. */
  private final int width;

  /** The first row or batch of the next run, or null if it is yet to be read. */
  private Object piece = null;

  /**
   * Creates the iterator; see {@link AccumulatorKernel} for the parameters.
   *
   * @param splitFiles the ordinals of the files that several tasks read, or null if they are
   *     unknown
   */
  FileRuns(Iterator<?> pieces, String[] specs, int[] positions, Set<Integer> splitFiles) {
    this.pieces = pieces;
    this.splitFiles = splitFiles;
    ordinalColumn = positions[0];
    accumulators = new Accumulator[specs.length];
    columns = new int[specs.length];
    int total = 1;
    for (int i = 0; i < specs.length; i++) {
      AccumulatorSpec spec = new AccumulatorSpec(specs[i]);
      accumulators[i] = spec.create();
      columns[i] = positions[spec.column()];
      total += accumulators[i].width();
    }
    width = total;
  }

  @Override
  public boolean hasNext() {
    while (piece == null && pieces.hasNext()) {
      piece = pieces.next();
      if (piece instanceof ColumnarBatch && ((ColumnarBatch) piece).numRows() == 0) {
        piece = null;
      }
    }
    return piece != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    int file = ordinal();
    for (Accumulator accumulator : accumulators) {
      accumulator.reset();
    }
    do {
      if (piece instanceof ColumnarBatch) {
        addBatch((ColumnarBatch) piece);
      } else {
        addRow((InternalRow) piece);
      }
      piece = null;
    } while (hasNext() && ordinal() == file);
    return result(file);
  }

  /** Returns the ordinal of the file of the current piece. */
  private int ordinal() {
    return piece instanceof ColumnarBatch
        ? ((ColumnarBatch) piece).column(ordinalColumn).getInt(0)
        : ((InternalRow) piece).getInt(ordinalColumn);
  }

  private void addRow(InternalRow row) {
    for (int i = 0; i < accumulators.length; i++) {
      if (row.isNullAt(columns[i])) {
        accumulators[i].addNull();
      } else {
        accumulators[i].add(row, columns[i]);
      }
    }
  }

  private void addBatch(ColumnarBatch batch) {
    for (int i = 0; i < accumulators.length; i++) {
      accumulators[i].addAll(new ColumnarArray(batch.column(columns[i]), 0, batch.numRows()));
    }
  }

  private InternalRow result(int file) {
    boolean isWholeFile = splitFiles != null && !splitFiles.contains(Integer.valueOf(file));
    Object[] values = new Object[width];
    values[0] = Integer.valueOf(file);
    int start = 1;
    for (Accumulator accumulator : accumulators) {
      accumulator.emit(values, start, isWholeFile);
      start += accumulator.width();
    }
    return new GenericInternalRow(values);
  }
}
