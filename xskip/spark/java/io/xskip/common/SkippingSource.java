package io.xskip.common;

import com.codahale.metrics.MetricRegistry;
import java.lang.ref.WeakReference;
import org.apache.spark.SparkContext;
import org.apache.spark.metrics.source.Source;
import org.slf4j.LoggerFactory;

/**
 * The counters of the process in Spark's metrics system, whose sinks report them. Each Spark
 * context has a metrics system of its own, in which the counters are registered once.
 */
public final class SkippingSource implements Source {
  private static final long NANOS_PER_MILLI = 1_000_000;

  /** The names of the counters, in the order of the values of {@link #add}. */
  private static final String[] NAMES = {
    "scans", "files.listed", "files.skipped", "bytes.listed", "bytes.skipped", "milliseconds",
  };

  private static final String FAILURES = "failures";
  private static final MetricRegistry REGISTRY = new MetricRegistry();

  /** The context in which the counters are registered. */
  private static WeakReference<SparkContext> registered = new WeakReference<>(null);

  /** The nanoseconds that are not yet counted as milliseconds. */
  private static long restNanos = 0;

  @Override
  public String sourceName() {
    return "xskip";
  }

  @Override
  public MetricRegistry metricRegistry() {
    return REGISTRY;
  }

  /** Registers the counters in the metrics system of the running context. */
  public static synchronized void register() {
    try {
      SparkContext present = SparkCompat.context();
      if (present == null || present == registered.get()) {
        return;
      }
      for (String name : NAMES) {
        REGISTRY.counter(name);
      }
      REGISTRY.counter(FAILURES);
      SparkCompat.metricsSystem(present).registerSource(new SkippingSource());
      registered = new WeakReference<>(present);
    } catch (Throwable t) {
      LoggerFactory.getLogger("io.xskip").debug("xskip: the registration of counters failed", t);
    }
  }

  /**
   * Counts an answer that was applied to a listing.
   *
   * @param files how many files were listed, and how many were skipped
   * @param bytes the sums of their sizes
   * @param nanos how long the answer took
   */
  public static void count(long[] files, long[] bytes, long nanos) {
    register();
    add(new long[] {1, files[0], files[1], bytes[0], bytes[1], millis(nanos)});
  }

  private static void add(long[] values) {
    for (int i = 0; i < NAMES.length; i++) {
      REGISTRY.counter(NAMES[i]).inc(values[i]);
    }
  }

  /** Counts a failure after which a query reads files that it could have skipped. */
  public static void countFailure() {
    REGISTRY.counter(FAILURES).inc();
  }

  /** Returns how many milliseconds are complete after a duration, and keeps the rest. */
  private static synchronized long millis(long nanos) {
    restNanos += nanos;
    long millis = restNanos / NANOS_PER_MILLI;
    restNanos %= NANOS_PER_MILLI;
    return millis;
  }
}
