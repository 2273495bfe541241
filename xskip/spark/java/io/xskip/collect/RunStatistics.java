package io.xskip.collect;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The results of accumulators over a run of rows, with the numbers of rows and NULLs. */
public final class RunStatistics {
  private final Accumulator[] accumulators;
  private final int[] columns; // the position in the rows of each accumulator's column
  private final RowCounts counts;
  private final AccumulatorClock clock; // null if the times are not wanted
  private final int width;

  /**
   * Creates statistics without rows.
   *
   * @param columns the position of each accumulator's column in the rows
   * @param clock what takes the times, or null
   */
  RunStatistics(Accumulator[] accumulators, int[] columns, AccumulatorClock clock) {
    this.accumulators = accumulators;
    this.columns = columns;
    this.clock = clock;
    counts = new RowCounts(accumulators.length);
    int total = 0;
    for (Accumulator accumulator : accumulators) {
      total += accumulator.width();
    }
    width = total;
  }

  /**
   * Returns the statistics of a file.
   *
   * @param specs the accumulators, see {@link AccumulatorFactory}
   * @param positions those of the factories' columns in the rows
   */
  public static RunStatistics ofFile(String[] specs, int[] positions) {
    return of(specs, specs.length, positions, false, null);
  }

  /** Returns the statistics of files, or of parts of files, by the first descriptions. */
  static RunStatistics of(
      String[] specs, int count, int[] positions, boolean isOfParts, AccumulatorClock clock) {
    Accumulator[] accumulators = new Accumulator[count];
    int[] columns = new int[count];
    for (int i = 0; i < count; i++) {
      AccumulatorFactory spec = new AccumulatorFactory(specs[i]);
      accumulators[i] = isOfParts ? spec.createForParts() : spec.create();
      columns[i] = positions[spec.column()];
    }
    return new RunStatistics(accumulators, columns, clock);
  }

  /** Returns the number of result columns, without that of the counts. */
  public int width() {
    return width;
  }

  /** Discards all rows. */
  void reset() {
    for (Accumulator accumulator : accumulators) {
      accumulator.reset();
    }
    counts.reset();
  }

  /** Adds a row, or a batch of rows. */
  void add(Object piece) {
    if (piece instanceof ColumnarBatch) {
      addBatch((ColumnarBatch) piece);
    } else {
      addRow((InternalRow) piece);
    }
  }

  /** Adds a row. */
  public void addRow(InternalRow row) {
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
    start();
    for (int i = 0; i < accumulators.length; i++) {
      ColumnarArray values = new ColumnarArray(batch.column(columns[i]), 0, batch.numRows());
      counts.addNulls(i, accumulators[i].addAll(values));
      stop(i);
    }
  }

  /** Adds the rows of other statistics. */
  void merge(RunStatistics other) {
    counts.addAll(other.counts);
    start();
    for (int i = 0; i < accumulators.length; i++) {
      accumulators[i].merge(other.accumulators[i]);
      stop(i);
    }
  }

  /**
   * Writes the results to columns from {@code first} on, and returns the position after them.
   *
   * @param isWhole whether the rows are all rows of a file, or of a part
   */
  public int emit(Object[] values, int first, boolean isWhole) {
    int position = first;
    start();
    for (int i = 0; i < accumulators.length; i++) {
      accumulators[i].emit(values, position, isWhole);
      position += accumulators[i].width();
      stop(i);
    }
    return position;
  }

  /** Returns the numbers of rows and NULLs. */
  public Object counts() {
    return counts.result();
  }

  /** Returns the number of rows. */
  public long rows() {
    return counts.rows();
  }

  private void start() {
    if (clock != null) {
      clock.start();
    }
  }

  private void stop(int accumulator) {
    if (clock != null) {
      clock.stop(accumulator);
    }
  }
}
