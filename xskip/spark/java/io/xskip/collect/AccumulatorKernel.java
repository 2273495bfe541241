package io.xskip.collect;

import java.io.Serializable;
import java.util.HashSet;
import java.util.Iterator;
import org.apache.spark.api.java.function.FlatMapFunction;

/**
 * Runs on executors: the rows or batches of a scan, which come object by object, to one row for
 * each run of an object: its ordinal and what the accumulators found. Each accumulator is written
 * "kind:column:type:cap:rate"; columns are counted as in {@code at}, which has the place of each in
 * the rows, of the ordinal first. {@code split}: the ordinals of the objects that several tasks
 * read; null where that is not known.
 */
public class AccumulatorKernel implements FlatMapFunction, Serializable {
  private final String[] specs;
  private final int[] at;
  private final HashSet split;

  public AccumulatorKernel(String[] specs, int[] at, HashSet split) {
    this.specs = specs;
    this.at = at;
    this.split = split;
  }

  public Iterator call(Object pieces) {
    return new FileRuns((Iterator) pieces, specs, at, split);
  }
}
