package io.xskip.observe;

import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;

/** The keys of the other side of a join, in the plan of the query that this thread runs. */
public final class JoinKeys {
  private JoinKeys() {}

  /**
   * Returns the keys for a scan with a test of its files, or null if they are not known: Spark does
   * not broadcast the other side, or runs the plan outside of a SQL execution.
   *
   * @param test the test, compared by identity
   */
  public static Object[] of(Object test) {
    String id = SparkCompat.executionId();
    QueryExecution execution =
        id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    if (execution == null) {
      return null;
    }
    for (PhysicalScan scan : PlanWalk.executed(execution.executedPlan())) {
      Object[] keys = scan.joinKeys(test);
      if (keys != null) {
        return keys;
      }
    }
    return null;
  }
}
