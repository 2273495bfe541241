package io.xskip.hook;

import com.codahale.metrics.MetricRegistry;
import io.xskip.common.SparkCompat;
import java.lang.ref.WeakReference;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.metrics.source.Source;

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
      HookState.logDebug("the registration of counters", t);
    }
  }

  /** Counts the answers that were applied to a listing. */
  static void count(List<ScanRecord> records) {
    register();
    for (ScanRecord scan : records) {
      long[] counts = scan.counts();
      long millis = millis(scan.nanos());
      add(
          new long[] {
            1, counts[0], counts[0] - counts[3], counts[1], counts[1] - counts[4], millis
          });
    }
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
