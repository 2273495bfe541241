package io.xskip.observe;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Failures;
import io.xskip.common.Json;
import io.xskip.scan.ScanLog;
import io.xskip.scan.ScanMetrics;
import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import scala.Option;

/**
 * The latest SQL executions of all sessions: what each of their scans read, and why a scan read all
 * files. A listener of the Spark context adds an execution when it ends. Executions that another
 * execution started belong to that execution. Commands that read no files are not recorded, and
 * neither are executions with which Spark infers a schema.
 */
public final class QueryLog extends SparkListener {
  private static final int CAPACITY = 1000;
  private static final int MAX_SESSIONS = 256;
  private static final long WAIT_MS = 10_000;

  private static final Deque<QueryRecord> RECORDS = new ArrayDeque<>();

  /** The latest execution of each session, which the records may no longer contain. */
  private static final Map<String, QueryRecord> LATEST = new LinkedHashMap<>();

  private static SparkContext context = null;
  private static long lastNumber = 0;

  /** The executions that run, with the execution that started each of them. */
  private final Map<Long, Long> roots = new HashMap<>();

  /** The scans of ended executions, by the execution that started them. */
  private final Map<Long, List<Json.Value>> nested = new HashMap<>();

  /** Records the executions of the running context from now on. */
  public static synchronized void listen() {
    SparkContext present = SparkCompat.context();
    if (present != null && present != context) {
      present.addSparkListener(new QueryLog());
      context = present;
    }
  }

  /** Waits until all executions that have ended are recorded. */
  private static void waitForListener() {
    SparkContext present = SparkCompat.context();
    try {
      if (present != null) {
        present.listenerBus().waitUntilEmpty(WAIT_MS);
      }
    } catch (Throwable t) {
      // Other listeners are slow: the latest executions may be missing.
    }
  }

  /** Waits until all executions that have ended are recorded, and returns the latest number. */
  public static long lastNumber() {
    waitForListener();
    synchronized (RECORDS) {
      return lastNumber;
    }
  }

  /** Returns the executions of a session after a number as a JSON array, oldest first. */
  public static String after(long number, Object session) throws Exception {
    waitForListener();
    String id = SparkCompat.sessionId(session);
    List<QueryRecord> later = new ArrayList<>();
    synchronized (RECORDS) {
      for (QueryRecord query : RECORDS) {
        if (query.number() > number && query.session().equals(id)) {
          later.add(query);
        }
      }
    }
    return text(later);
  }

  /** Returns the executions of all sessions after a number as a JSON array, oldest first. */
  public static String after(long number) {
    waitForListener();
    List<QueryRecord> later = new ArrayList<>();
    synchronized (RECORDS) {
      for (QueryRecord query : RECORDS) {
        if (query.number() > number) {
          later.add(query);
        }
      }
    }
    return text(later);
  }

  /** Returns a JSON array of the latest execution of a session, or of none. */
  public static String latest(Object session) throws Exception {
    waitForListener();
    List<QueryRecord> found = new ArrayList<>();
    synchronized (RECORDS) {
      QueryRecord query = (QueryRecord) LATEST.get(SparkCompat.sessionId(session));
      if (query != null) {
        found.add(query);
      }
    }
    return text(found);
  }

  /** Waits until all executions that have ended are recorded, see {@link ScanLog#takeUsed}. */
  public static String takeUsed() {
    waitForListener();
    return ScanLog.takeUsed();
  }

  /** Returns what all executions of a session have skipped, see {@link SavingsLog#of}. */
  public static String savings(Object session) throws Exception {
    waitForListener();
    return SavingsLog.of(SparkCompat.sessionId(session));
  }

  private static String text(final List<QueryRecord> queries) {
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (QueryRecord query : queries) {
              query.writeTo(json);
            }
            json.writeEndArray();
          }
        });
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    try {
      if (event instanceof SparkListenerSQLExecutionStart) {
        begin((SparkListenerSQLExecutionStart) event);
        ScanMetrics.publishPending(((SparkListenerSQLExecutionStart) event).executionId());
      } else if (event instanceof SparkListenerSQLAdaptiveExecutionUpdate) {
        ScanMetrics.publishPending(((SparkListenerSQLAdaptiveExecutionUpdate) event).executionId());
      } else if (event instanceof SparkListenerSQLExecutionEnd) {
        ScanMetrics.forget(((SparkListenerSQLExecutionEnd) event).executionId());
        end((SparkListenerSQLExecutionEnd) event);
      }
    } catch (Throwable t) {
      Failures.logDebug("the record of a query", t);
    }
  }

  private void begin(SparkListenerSQLExecutionStart event) {
    Option<Object> root = event.rootExecutionId();
    Long id = Long.valueOf(event.executionId());
    roots.put(id, root.isEmpty() ? id : (Long) root.get());
  }

  private void end(SparkListenerSQLExecutionEnd event) throws Exception {
    Long id = Long.valueOf(event.executionId());
    Long root = (Long) roots.remove(id);
    List<Json.Value> scans = new ArrayList<>();
    List<Json.Value> before = (List<Json.Value>) nested.remove(id);
    if (before != null) {
      scans.addAll(before);
    }
    QueryExecution execution = event.qe();
    if (execution == null || isInference(execution)) {
      return;
    }
    addScans(execution, id, scans);
    if (root != null && !root.equals(id) && roots.containsKey(root)) {
      addNested(root, scans);
    } else if (!scans.isEmpty() || !QueryRecord.isCommand(execution)) {
      QueryRecord query = new QueryRecord(nextNumber(), event, scans);
      add(query);
      SavingsLog.add(query.session(), event.time(), scans);
    }
  }

  /** Returns whether Spark runs an execution of its own in order to infer a schema. */
  private static boolean isInference(QueryExecution execution) {
    try {
      List<PhysicalScan> found = PlanWalk.executed(execution.executedPlan());
      return found.size() == 1
          && ((PhysicalScan) found.get(0)).isOfLines()
          && !execution.analyzed().isStreaming();
    } catch (Throwable t) { // the execution failed while it was planned
      return false;
    }
  }

  private static void addScans(QueryExecution execution, Long id, List<Json.Value> scans) {
    List<PhysicalScan> found;
    try {
      found = PlanWalk.executed(execution.executedPlan());
    } catch (Throwable t) { // the execution failed while it was planned
      return;
    }
    String why = SkippingState.reasonOff(execution);
    for (PhysicalScan scan : found) {
      if (scan.isListedBy(id.toString())) {
        scans.add(new ExecutedScan(scan, why));
        scan.countExplained();
      }
    }
  }

  private void addNested(Long root, List<Json.Value> scans) {
    List<Json.Value> earlier = (List<Json.Value>) nested.get(root);
    if (earlier == null) {
      nested.put(root, scans);
    } else {
      earlier.addAll(scans);
    }
  }

  private static long nextNumber() {
    synchronized (RECORDS) {
      lastNumber++;
      return lastNumber;
    }
  }

  private static void add(QueryRecord query) {
    synchronized (RECORDS) {
      RECORDS.addLast(query);
      if (RECORDS.size() > CAPACITY) {
        RECORDS.removeFirst();
      }
      LATEST.remove(query.session());
      LATEST.put(query.session(), query);
      if (LATEST.size() > MAX_SESSIONS) {
        LATEST.remove(LATEST.keySet().iterator().next());
      }
    }
  }
}
