package io.xskip.collect;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * The time that each of several accumulators takes for the rows of a file.
 *
 * <p>Column batches are timed as a whole. To time each row would cost more than most accumulators
 * do, so of single rows only every 64th is timed, and stands for all of them.
 */
final class AccumulatorClock {
  /** The description that asks for the times, after those of the accumulators. */
  static final String SPEC = "times";

  private static final int ROWS_PER_SAMPLE = 64;

  private final long[] nanos;
  private final long[] sampled;
  private long rows = 0;
  private long samples = 0;
  private long last = 0;

  /** The time that reading the clock takes itself, as of the latest timed row. */
  private long ownNanos = 0;

  AccumulatorClock(int accumulators) {
    nanos = new long[accumulators];
    sampled = new long[accumulators];
  }

  /** Begins a file. */
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

  /** Begins to time the first accumulator for a single row. */
  void startRow() {
    samples++;
    long before = System.nanoTime();
    last = System.nanoTime();
    ownNanos = last - before;
  }

  /** Ends the time of an accumulator for a single row, and begins that of the next one. */
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
