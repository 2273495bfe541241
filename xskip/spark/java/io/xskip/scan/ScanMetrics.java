package io.xskip.scan;

import io.xskip.shims.SparkCompat;
import java.lang.reflect.Field;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics$;
import scala.Tuple2;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * The SQL metrics of an indexed relation, in Spark's user interface and event log.
 *
 * <p>Spark writes the text of a plan and then lists the metrics of its nodes, when an execution
 * starts and when adaptive execution changes the plan. The nodes get these metrics with the text.
 * They stay Spark's own nodes, so that no plan differs from a plan without an index.
 */
public final class ScanMetrics {
  private static final int MAX_PENDING = 1000;
  private static final long HALF_MILLI = 500_000;
  private static final String V1_FIELD =
      "org$apache$spark$sql$execution$FileSourceScanLike$$scanMetrics";
  private static final String V2_FIELD = "metrics";

  /** The keys, which order the metrics in the user interface. */
  private static final String[] KEYS = {
    "xskipBytesSkipped",
    "xskipFilesListed",
    "xskipFilesSkipped",
    "xskipFilesUnneeded",
    "xskipIndexes",
    "xskipTime"
  };

  /** Values of executions that Spark has not announced yet, by the number of the execution. */
  private static final ConcurrentHashMap<String, Seq<Tuple2<Object, Object>>> PENDING =
      new ConcurrentHashMap<>();

  private SQLMetric[] metrics = null;

  /** The latest execution whose plan contains the metrics, and the latest one with values. */
  private String announced = "";

  private String published = "";

  /** Publishes the values of an execution that Spark has announced. */
  public static void publishPending(long execution) {
    Seq<Tuple2<Object, Object>> values =
        (Seq<Tuple2<Object, Object>>) PENDING.remove(Long.toString(execution));
    SparkContext context = SparkCompat.context();
    if (values != null && context != null) {
      post(context, Long.toString(execution), values);
    }
  }

  /** Forgets the values of an execution that has ended. */
  public static void forget(long execution) {
    PENDING.remove(Long.toString(execution));
  }

  /**
   * Adds the metrics to a scan of an execution that is about to be announced.
   *
   * @param records the records of the listing that the scan has made while it was planned or in an
   *     earlier execution, or null
   */
  public synchronized void addTo(SparkPlan node, String execution, List<ScanRecord> records)
      throws Exception {
    SparkContext context = SparkCompat.context();
    if (context == null) {
      return;
    }
    if (metrics == null) {
      metrics = create(context);
    }
    extend(node);
    announced = execution;
    if (records != null && !records.isEmpty() && !published.equals(execution)) {
      published = execution;
      if (PENDING.size() >= MAX_PENDING) {
        PENDING.clear();
      }
      Seq<Tuple2<Object, Object>> earlier = (Seq<Tuple2<Object, Object>>) PENDING.get(execution);
      PENDING.put(execution, values(records, earlier));
    }
  }

  /** Publishes the values of a listing if the execution of this thread has the metrics. */
  synchronized void publish(List<ScanRecord> records) {
    String execution = SparkCompat.executionId();
    SparkContext context = SparkCompat.context();
    if (execution == null || context == null || !announced.equals(execution)) {
      return;
    }
    if (!records.isEmpty()) {
      published = execution;
      post(context, execution, values(records, null));
    }
  }

  private static SQLMetric[] create(SparkContext context) {
    SQLMetrics$ factory = SQLMetrics$.MODULE$;
    return new SQLMetric[] {
      factory.createSizeMetric(context, "xskip: size of files skipped", -1),
      factory.createMetric(context, "xskip: number of files listed"),
      factory.createMetric(context, "xskip: number of files skipped"),
      factory.createMetric(context, "xskip: number of skipped files that can match"),
      factory.createMetric(context, "xskip: number of indexes used"),
      factory.createTimingMetric(context, "xskip: time to select files", -1),
    };
  }

  @SuppressWarnings("unchecked") // a map of metrics stays one
  private void extend(SparkPlan node) throws Exception {
    Map<String, SQLMetric> present = node.metrics();
    if (present.contains(KEYS[0])) {
      return;
    }
    for (int i = 0; i < KEYS.length; i++) {
      present = (Map<String, SQLMetric>) present.updated(KEYS[i], metrics[i]);
    }
    boolean isV1 = node instanceof FileSourceScanExec;
    Class<?> type = isV1 ? FileSourceScanExec.class : node.getClass();
    Field field = type.getDeclaredField(isV1 ? V1_FIELD : V2_FIELD);
    field.setAccessible(true);
    field.set(node, present);
  }

  /** Sets the metrics, and returns their numbers and values after those of other relations. */
  private Seq<Tuple2<Object, Object>> values(
      List<ScanRecord> records, Seq<Tuple2<Object, Object>> others) {
    long skippedBytes = 0;
    long skipped = 0;
    long unneeded = 0;
    long indexes = 0;
    long nanos = 0;
    for (ScanRecord scan : records) {
      skippedBytes += scan.listedBytes() - scan.keptBytes();
      skipped += scan.listed() - scan.kept();
      unneeded += scan.unneeded();
      indexes += scan.indexes();
      nanos += scan.nanos();
    }
    long listed = ((ScanRecord) records.get(0)).listed();
    long millis = (nanos + HALF_MILLI) / (2 * HALF_MILLI);
    long[] values = {skippedBytes, listed, skipped, unneeded, indexes, millis};
    VectorBuilder<Tuple2<Object, Object>> updates = new VectorBuilder<>();
    if (others != null) {
      updates.$plus$plus$eq(others);
    }
    for (int i = 0; i < values.length; i++) {
      metrics[i].set(values[i]);
      Object number = Long.valueOf(metrics[i].id());
      updates.$plus$eq(new Tuple2<Object, Object>(number, Long.valueOf(values[i])));
    }
    return updates.result();
  }

  private static void post(
      SparkContext context, String execution, Seq<Tuple2<Object, Object>> values) {
    SQLMetrics$.MODULE$.postDriverMetricsUpdatedByValue(context, execution, values);
  }
}
