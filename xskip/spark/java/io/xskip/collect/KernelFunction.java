package io.xskip.collect;

import java.util.HashSet;
import java.util.Iterator;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The function that executors apply to the rows of a scan [JVM-AC-2]: it runs accumulators over
 * each file's run of rows.
 */
public final class KernelFunction implements FlatMapFunction<Object, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final String[] specs;
  private final int[] positions;
  private final HashSet<Integer> splitFiles; // that several tasks read, or null if unknown

  /**
   * Creates a kernel; {@code positions} are those of the columns of {@link AccumulatorFactory},
   * first the ordinal, in the scan's rows.
   */
  public KernelFunction(String[] specs, int[] positions, HashSet<Integer> splitFiles) {
    this.specs = specs;
    this.positions = positions;
    this.splitFiles = splitFiles;
  }

  @Override
  public Iterator<InternalRow> call(Object pieces) { // an iterator over rows or column batches
    return new FileRuns((Iterator<?>) pieces, specs, positions, splitFiles);
  }
}
