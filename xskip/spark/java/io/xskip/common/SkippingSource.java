package io.xskip.common;

import com.codahale.metrics.MetricRegistry;
import io.xskip.shims.SparkCompat;
import java.lang.ref.WeakReference;
import org.apache.spark.SparkContext;
import org.apache.spark.metrics.source.Source;
import org.slf4j.LoggerFactory;

/** The counters of the process in Spark's metrics system, whose sinks report them. */
public final class SkippingSource implements Source {
  private static final long NANOS_PER_MILLI = 1_000_000;

  // in the order of the values of add
  private static final String[] NAMES = {
    "scans", "files.listed", "files.skipped", "bytes.listed", "bytes.skipped", "milliseconds",
  };

  private static final String FAILURES = "failures";
  private static final MetricRegistry REGISTRY = new MetricRegistry();

  // each context has a metrics system of its own, in which the counters are registered once
  private static WeakReference<SparkContext> registered = new WeakReference<>(null);

  private static long restNanos = 0; // not yet counted as milliseconds

  @Override
  public String sourceName() {
    return "xskip";
  }

  @Override
  public MetricRegistry metricRegistry() {
    return REGISTRY;
  }

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
   * Counts an answer: how many files were listed and skipped, the sums of their sizes, and its
   * duration.
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

  private static synchronized long millis(long nanos) {
    restNanos += nanos;
    long millis = restNanos / NANOS_PER_MILLI;
    restNanos %= NANOS_PER_MILLI;
    return millis;
  }
}
