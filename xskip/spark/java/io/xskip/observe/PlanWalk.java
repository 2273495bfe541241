package io.xskip.observe;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.SparkPlan;
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
    walk.collect(plan);
    return walk.scans;
  }

  /**
   * Returns the scans of a plan that ran. Adaptive execution can have removed scans, or planned
   * them again.
   */
  static List<PhysicalScan> executed(SparkPlan plan) {
    PlanWalk walk = new PlanWalk(true);
    walk.collect(plan);
    return walk.scans;
  }

  private void collect(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      AdaptiveSparkPlanExec adaptive = (AdaptiveSparkPlanExec) plan;
      collect(isExecuted ? adaptive.executedPlan() : adaptive.inputPlan());
      if (isExecuted) {
        addRemoved(adaptive.inputPlan());
      }
    } else if (isExecuted && plan instanceof QueryStageExec) {
      collect(((QueryStageExec) plan).plan());
    } else if (isExecuted && plan instanceof CommandResultExec) {
      collect(((CommandResultExec) plan).commandPhysicalPlan());
    } else if (isExecuted && plan instanceof InMemoryTableScanExec) {
      collectCached(((InMemoryTableScanExec) plan).relation().cacheBuilder().cachedPlan());
    } else {
      PhysicalScan scan = PhysicalScan.of(plan, isInCache);
      if (scan != null) {
        scans.add(scan);
      }
      collectAll(plan.children());
      collectAll(plan.subqueries());
    }
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
    collect(plan);
    isInCache = wasInCache;
  }

  private void collectAll(Seq<SparkPlan> plans) {
    scala.collection.Iterator<SparkPlan> iterator = plans.iterator();
    while (iterator.hasNext()) {
      collect((SparkPlan) iterator.next());
    }
  }
}
