package io.xskip.collect;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** The time that each of several accumulators takes for the rows of a file. */
final class AccumulatorClock {
  // the description that asks for the times, after those of the accumulators
  static final String SPEC = "times";

  // To time each row would cost more than most accumulators do, so of single rows only every 64th
  // is timed, and stands for all of them. Column batches are timed as a whole.
  private static final int ROWS_PER_SAMPLE = 64;

  private final long[] nanos;
  private final long[] sampled;
  private long rows = 0;
  private long samples = 0;
  private long last = 0;
  private long ownNanos = 0; // for reading the clock, as of the latest timed row

  AccumulatorClock(int accumulators) {
    nanos = new long[accumulators];
    sampled = new long[accumulators];
  }

  void reset() {
    Arrays.fill(nanos, 0);
    Arrays.fill(sampled, 0);
    rows = 0;
    samples = 0;
  }

  /** Begins to time the first accumulator. */
  void start() {
    last = System.nanoTime();
  }

  /** Ends the time of an accumulator, and begins that of the next one. */
  void stop(int accumulator) {
    long now = System.nanoTime();
    nanos[accumulator] += now - last;
    last = now;
  }

  /** Counts a single row, and returns whether it is timed. */
  boolean isNextRowTimed() {
    rows++;
    return rows % ROWS_PER_SAMPLE == 1;
  }

  void startRow() {
    samples++;
    long before = System.nanoTime();
    last = System.nanoTime();
    ownNanos = last - before;
  }

  void stopRow(int accumulator) {
    long now = System.nanoTime();
    sampled[accumulator] += Math.max(0, now - last - ownNanos);
    last = now;
  }

  /** Returns the nanoseconds of each accumulator. */
  ArrayData nanos() {
    long[] total = Arrays.copyOf(nanos, nanos.length);
    for (int i = 0; samples > 0 && i < total.length; i++) {
      total[i] += sampled[i] * rows / samples;
    }
    return UnsafeArrayData.fromPrimitiveArray(total);
  }
}
