package io.xskip.observe;

import io.xskip.common.Failures;
import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;

/** Adds the metrics of indexed relations to the nodes of a plan whose text Spark writes. */
final class PlanMetrics {
  /** The execution and plan whose nodes this thread has extended last. */
  private static final ThreadLocal<String> EXTENDED = new ThreadLocal<>();

  private PlanMetrics() {}

  /** Adds metrics to the indexed scans of the execution of this thread, if there is one. */
  static void extend() {
    String id = SparkCompat.executionId();
    QueryExecution execution =
        id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    if (execution == null || "".equals(EXTENDED.get())) {
      return;
    }
    String before = (String) EXTENDED.get();
    EXTENDED.set(""); // while a plan is made, its text must not ask for the plan
    String extended = before;
    try {
      SparkPlan plan = execution.executedPlan();
      SparkPlan present =
          plan instanceof AdaptiveSparkPlanExec
              ? ((AdaptiveSparkPlanExec) plan).executedPlan()
              : plan;
      extended = id + "-" + System.identityHashCode(present);
      if (!extended.equals(before)) {
        for (PhysicalScan scan : PlanWalk.executed(plan)) {
          scan.addMetrics(id);
        }
      }
    } catch (Throwable t) {
      Failures.logDebug("the addition of metrics", t);
    } finally {
      EXTENDED.set(extended);
    }
  }
}
