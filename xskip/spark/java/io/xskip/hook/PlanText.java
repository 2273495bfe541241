package io.xskip.hook;

import io.xskip.common.SparkCompat;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.ExplainCommand;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * What the texts of {@code EXPLAIN FORMATTED} say of an indexed relation. Spark writes the root
 * paths of a file index in them, and only for them does the first path have a note.
 */
final class PlanText {
  /** The method of a plan node that writes its text. */
  private static final String TEXT = "verboseStringWithOperatorId";

  /** The method of a plan node whose results Spark keeps. */
  private static final String KEPT = "metadata";

  private static final int MAX_FRAMES = 16;
  private static final StackWalker WALKER = StackWalker.getInstance();
  private static final String UNKNOWN = "xskip: files are selected when the query runs";

  private PlanText() {}

  /** Returns root paths; for the text of a plan node, the first one has a note. */
  static Seq<Path> rootPaths(Seq<Path> paths, ScanContext context) {
    try {
      if (paths.isEmpty() || !isAsked()) {
        return paths;
      }
      ScanMetrics.extendPlan();
      VectorBuilder<Path> noted = new VectorBuilder<>();
      scala.collection.Iterator<Path> iterator = paths.iterator();
      noted.$plus$eq(new NotedPath((Path) iterator.next(), context));
      while (iterator.hasNext()) {
        noted.$plus$eq((Path) iterator.next());
      }
      return noted.result();
    } catch (Throwable t) {
      HookState.logDebug("the text of a plan", t);
      return paths;
    }
  }

  /** Returns whether a plan node that writes its text has called. */
  private static boolean isAsked() {
    Object isAsked =
        WALKER.walk(
            new Function<Object, Object>() {
              @Override
              public Object apply(Object frames) {
                return Boolean.valueOf(isText(((Stream<?>) frames).limit(MAX_FRAMES).iterator()));
              }
            });
    return ((Boolean) isAsked).booleanValue();
  }

  private static boolean isText(Iterator<?> frames) {
    while (frames.hasNext()) {
      String method = ((StackWalker.StackFrame) frames.next()).getMethodName();
      if (method.startsWith(KEPT)) {
        return false;
      }
      if (method.contains(TEXT)) {
        return true;
      }
    }
    return false;
  }

  /** Returns what skipping does in a scan: in its latest listing, or in one that is made now. */
  static String note(ScanContext context) {
    List<ScanRecord> records = context.latest();
    if (records == null && !isExecuting()) {
      records = context.preview();
    }
    if (records == null) {
      return UNKNOWN;
    }
    if (records.isEmpty()) {
      return "xskip: no filter reaches this scan";
    }
    long kept = ((ScanRecord) records.get(records.size() - 1)).counts()[3];
    long listed = ((ScanRecord) records.get(0)).counts()[0];
    long indexes = 0;
    for (ScanRecord scan : records) {
      indexes += scan.indexes();
    }
    return "xskip: " + of(kept, listed, "file") + ", " + number(indexes, "index", "indexes");
  }

  private static String of(long part, long whole, String unit) {
    return String.format(Locale.ROOT, "%,d of ", part) + number(whole, unit, unit + "s");
  }

  private static String number(long number, String one, String many) {
    return String.format(Locale.ROOT, "%,d ", number) + (number == 1 ? one : many);
  }

  /** Returns whether this thread executes a query, other than to explain another one. */
  private static boolean isExecuting() {
    String id = SparkCompat.executionId();
    QueryExecution execution =
        id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    return execution != null && !(execution.logical() instanceof ExplainCommand);
  }
}
