package io.xskip.hook;

import java.util.List;
import org.apache.spark.sql.execution.CommandResultExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import scala.collection.immutable.Seq;

/** Finds the scans in a plan that ran: in the stages of adaptive execution, commands and caches. */
final class PlanWalk {
  private final List<PhysicalScan> scans;
  private boolean isInCache = false;

  PlanWalk(List<PhysicalScan> scans) {
    this.scans = scans;
  }

  void collect(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      collect(((AdaptiveSparkPlanExec) plan).executedPlan());
    } else if (plan instanceof QueryStageExec) {
      collect(((QueryStageExec) plan).plan());
    } else if (plan instanceof CommandResultExec) {
      collect(((CommandResultExec) plan).commandPhysicalPlan());
    } else if (plan instanceof InMemoryTableScanExec) {
      collectCached(((InMemoryTableScanExec) plan).relation().cacheBuilder().cachedPlan());
    } else {
      PhysicalScan.add(plan, isInCache, scans);
      collectAll(plan.children());
      collectAll(plan.subqueries());
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
