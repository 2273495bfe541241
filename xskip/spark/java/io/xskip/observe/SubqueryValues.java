package io.xskip.observe;

import io.xskip.shims.SparkCompat;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;

/**
 * The values of subqueries in the filters of a scan that tests its files, in the plan of the query
 * that this thread runs. Tests are compared by identity.
 */
public final class SubqueryValues {
  private SubqueryValues() {}

  /**
   * Returns the keys of the other side of a join, or null if they are not known: Spark does not
   * broadcast the other side, or runs the plan outside of a SQL execution.
   */
  public static Object[] joinKeys(Object test) {
    PhysicalScan scan = scan(test);
    return scan == null ? null : scan.joinKeys(test);
  }

  /**
   * Returns the conditions on rows that contain scalar subqueries, with the values of the
   * subqueries, or null if there are none.
   */
  public static List<Expression> conditions(Object test) {
    PhysicalScan scan = scan(test);
    return scan == null ? null : scan.conditionsOfSubqueries();
  }

  private static PhysicalScan scan(Object test) {
    String id = SparkCompat.executionId();
    QueryExecution execution =
        id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    if (execution == null) {
      return null;
    }
    for (PhysicalScan scan : PlanWalk.executed(execution.executedPlan())) {
      if (scan.hasTest(test)) {
        return scan;
      }
    }
    return null;
  }
}
