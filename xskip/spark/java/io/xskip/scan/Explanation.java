package io.xskip.scan;

import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.ExplainCommand;

/** The explanation that the current thread makes. Its listings read no files. */
public final class Explanation {
  private static final ThreadLocal<String> NAME = new ThreadLocal<>();

  private Explanation() {}

  /** Gives the records of this thread a name as query. */
  public static void begin(String name) {
    NAME.set(name);
  }

  public static void end() {
    NAME.remove();
  }

  /** Returns whether this thread executes a query, other than to explain another one. */
  public static boolean isExecuting() {
    String id = SparkCompat.executionId();
    QueryExecution execution =
        id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    return execution != null && !(execution.logical() instanceof ExplainCommand);
  }

  /** Returns the name of this thread's explanation, or null. */
  static String current() {
    return (String) NAME.get();
  }
}
