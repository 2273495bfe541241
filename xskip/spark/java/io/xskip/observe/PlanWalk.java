package io.xskip.observe;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import scala.collection.immutable.Seq;

/** Finds the scans of files in a physical plan and its subqueries. */
final class PlanWalk {
  private final List<PhysicalScan> scans = new ArrayList<>();

  /** Whether the plan ran: scans are in stages of adaptive execution, commands and caches. */
  private final boolean isExecuted;

  private boolean isInCache = false;

  private PlanWalk(boolean isExecuted) {
    this.isExecuted = isExecuted;
  }

  /** Returns the scans of a plan as it was planned before it runs. */
  static List<PhysicalScan> planned(SparkPlan plan) {
    PlanWalk walk = new PlanWalk(false);
    walk.collect(plan, null);
    return walk.scans;
  }

  /**
   * Returns the scans of a plan that ran. Adaptive execution can have removed scans, or planned
   * them again.
   */
  static List<PhysicalScan> executed(SparkPlan plan) {
    PlanWalk walk = new PlanWalk(true);
    walk.collect(plan, null);
    return walk.scans;
  }

  /**
   * Adds the scans of a plan.
   *
   * @param above the condition of a filter on the rows of the plan, or null
   */
  private void collect(SparkPlan plan, Expression above) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      AdaptiveSparkPlanExec adaptive = (AdaptiveSparkPlanExec) plan;
      collect(isExecuted ? adaptive.executedPlan() : adaptive.inputPlan(), null);
      if (isExecuted) {
        addRemoved(adaptive.inputPlan());
      }
    } else if (isExecuted && plan instanceof QueryStageExec) {
      collect(((QueryStageExec) plan).plan(), null);
    } else if (isExecuted && plan instanceof CommandResultExec) {
      collect(((CommandResultExec) plan).commandPhysicalPlan(), null);
    } else if (isExecuted && plan instanceof InMemoryTableScanExec) {
      collectCached(((InMemoryTableScanExec) plan).relation().cacheBuilder().cachedPlan());
    } else {
      PhysicalScan scan = PhysicalScan.of(plan, isInCache, above);
      if (scan != null) {
        scans.add(scan);
      }
      boolean isFilter = plan instanceof FilterExec;
      Expression condition = isFilter ? ((FilterExec) plan).condition() : above;
      collectAll(plan.children(), isFilter || returnsRowsOfChild(plan) ? condition : null);
      collectAll(plan.subqueries(), null);
    }
  }

  private static boolean returnsRowsOfChild(SparkPlan plan) {
    return plan instanceof WholeStageCodegenExec
        || plan instanceof InputAdapter
        || plan instanceof ColumnarToRowExec;
  }

  /**
   * Adds the scans whose files a rewrite has made needless: adaptive execution removes a scan that
   * has run without a file.
   */
  private void addRemoved(SparkPlan inputPlan) {
    for (PhysicalScan scan : planned(inputPlan)) {
      boolean isPresent = false;
      for (PhysicalScan present : scans) {
        isPresent |= present.isOfRelation(scan);
      }
      if (!isPresent && scan.hasRewrite()) {
        scans.add(scan);
      }
    }
  }

  private void collectCached(SparkPlan plan) {
    boolean wasInCache = isInCache;
    isInCache = true;
    collect(plan, null);
    isInCache = wasInCache;
  }

  private void collectAll(Seq<SparkPlan> plans, Expression above) {
    scala.collection.Iterator<SparkPlan> iterator = plans.iterator();
    while (iterator.hasNext()) {
      collect((SparkPlan) iterator.next(), above);
    }
  }
}
