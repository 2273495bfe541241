package io.xskip.collect;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The results of accumulators for each run of rows of the same file, from rows or from batches of a
 * single file each.
 */
final class FileRuns implements Iterator<InternalRow> {
  private final Iterator<?> pieces;
  private final Accumulator[] accumulators;
  private final int[] columns; // the position in the rows of each accumulator's column
  private final int ordinalColumn;
  private final Set<Integer> splitFiles;
  private final AccumulatorClock clock; // null if the times are not wanted
  private final int width; // the number of result columns

  private final RowCounts counts;
  private final boolean isCounted; // whether the counts are wanted

  // The first row or batch of the next run, or null if it is yet to be read. A scan reuses the
  // memory of a piece for the next one, so the accumulators receive each before the next is
  // requested.
  private Object piece = null;

  /** Creates the iterator; see {@link KernelFunction} for the parameters. */
  FileRuns(Iterator<?> pieces, String[] specs, int[] positions, Set<Integer> splitFiles) {
    this.pieces = pieces;
    this.splitFiles = splitFiles;
    ordinalColumn = positions[0];
    int count = specs.length;
    boolean isTimed = specs[count - 1].equals(AccumulatorClock.SPEC);
    count -= isTimed ? 1 : 0;
    isCounted = count > 0 && specs[count - 1].equals(RowCounts.SPEC);
    count -= isCounted ? 1 : 0;
    clock = isTimed ? new AccumulatorClock(count) : null;
    counts = new RowCounts(count);
    accumulators = new Accumulator[count];
    columns = new int[count];
    int total = specs.length - count + 1; // a column for the ordinal, the counts and the times
    for (int i = 0; i < count; i++) {
      AccumulatorFactory spec = new AccumulatorFactory(specs[i]);
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
    counts.reset();
    if (clock != null) {
      clock.reset();
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

  private int ordinal() {
    return piece instanceof ColumnarBatch
        ? ((ColumnarBatch) piece).column(ordinalColumn).getInt(0)
        : ((InternalRow) piece).getInt(ordinalColumn);
  }

  private void addRow(InternalRow row) {
    counts.addRows(1);
    if (clock != null && clock.isNextRowTimed()) {
      addTimedRow(row);
      return;
    }
    for (int i = 0; i < accumulators.length; i++) {
      addValue(row, i);
    }
  }

  private void addTimedRow(InternalRow row) {
    clock.startRow();
    for (int i = 0; i < accumulators.length; i++) {
      addValue(row, i);
      clock.stopRow(i);
    }
  }

  private void addValue(InternalRow row, int accumulator) {
    if (row.isNullAt(columns[accumulator])) {
      accumulators[accumulator].addNull();
      counts.addNulls(accumulator, 1);
    } else {
      accumulators[accumulator].add(row, columns[accumulator]);
    }
  }

  private void addBatch(ColumnarBatch batch) {
    counts.addRows(batch.numRows());
    if (clock != null) {
      clock.start();
    }
    for (int i = 0; i < accumulators.length; i++) {
      ColumnarArray values = new ColumnarArray(batch.column(columns[i]), 0, batch.numRows());
      counts.addNulls(i, accumulators[i].addAll(values));
      if (clock != null) {
        clock.stop(i);
      }
    }
  }

  private InternalRow result(int file) {
    boolean isWholeFile = splitFiles != null && !splitFiles.contains(Integer.valueOf(file));
    Object[] values = new Object[width];
    values[0] = Integer.valueOf(file);
    int start = 1;
    if (clock != null) {
      clock.start();
    }
    for (int i = 0; i < accumulators.length; i++) {
      accumulators[i].emit(values, start, isWholeFile);
      start += accumulators[i].width();
      if (clock != null) {
        clock.stop(i);
      }
    }
    if (isCounted) {
      values[start++] = counts.result();
    }
    if (clock != null) {
      values[start] = clock.nanos();
    }
    return new GenericInternalRow(values);
  }
}
