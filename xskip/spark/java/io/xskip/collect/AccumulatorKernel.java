package io.xskip.collect;

import java.util.HashSet;
import java.util.Iterator;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The function that executors apply to the rows of a scan: it runs accumulators over the rows of
 * each file.
 *
 * <p>A task reads the rows of a file consecutively. The function returns a row for each such run of
 * rows: the ordinal of the file, then the results of the accumulators in their order.
 */
public final class AccumulatorKernel implements FlatMapFunction<Object, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final String[] specs;
  private final int[] positions;
  private final HashSet<Integer> splitFiles;

  /**
   * Creates a kernel.
   *
   * @param specs the accumulators, see {@link AccumulatorSpec}
   * @param positions the position in the scan's rows of each column of the DataFrame, of which the
   *     first one holds the ordinal of the file
   * @param splitFiles the ordinals of the files that several tasks read, or null if they are
   *     unknown
   */
  public AccumulatorKernel(String[] specs, int[] positions, HashSet<Integer> splitFiles) {
    this.specs = specs;
    this.positions = positions;
    this.splitFiles = splitFiles;
  }

  /**
   * Returns the results for the rows of a task.
   *
   * @param pieces an iterator over the rows or the column batches of a scan
   */
  @Override
  public Iterator<InternalRow> call(Object pieces) {
    return new FileRuns((Iterator<?>) pieces, specs, positions, splitFiles);
  }
}
