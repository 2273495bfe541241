package io.xskip.rewrite;

import io.xskip.common.Failures;
import io.xskip.shims.Scala;
import io.xskip.tasks.RangedScan;
import java.util.Collections;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.collection.immutable.Seq;

/**
 * Plans scans of indexed V1 relations so that they read only ranges of files [PLN-RG-2]. Javac
 * refuses the types that the class inherits from Scala.
 */
public final class RangedScanStrategy extends SparkStrategy {
  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    try {
      if (mayHaveRanges(plan)) {
        Seq<SparkPlan> planned = FileSourceStrategy$.MODULE$.apply(plan);
        if (!planned.isEmpty()) {
          return single(withRanges((SparkPlan) planned.head()));
        }
      }
    } catch (Throwable t) { // Spark's own strategies plan the scan
      Failures.logFailure("the strategy", t);
    }
    return (Seq<SparkPlan>) Scala.seq(Collections.<SparkPlan>emptyList());
  }

  private static boolean mayHaveRanges(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project || node instanceof Filter) {
      node = (LogicalPlan) node.children().head();
    }
    if (!(node instanceof LogicalRelation)
        || !(((LogicalRelation) node).relation() instanceof HadoopFsRelation)) {
      return false;
    }
    FileIndex index = ((HadoopFsRelation) ((LogicalRelation) node).relation()).location();
    return index instanceof SkippingFileIndex
        && ((SkippingFileIndex) index).listing().mayHaveRanges();
  }

  private static SparkPlan withRanges(SparkPlan plan) throws Exception {
    if (plan instanceof FileSourceScanExec) {
      return RangedScan.of((FileSourceScanExec) plan);
    }
    Seq<SparkPlan> children = single(withRanges((SparkPlan) plan.children().head()));
    return (SparkPlan) plan.withNewChildren(children);
  }

  private static Seq<SparkPlan> single(SparkPlan plan) {
    return (Seq<SparkPlan>) Scala.seq(Collections.singletonList(plan));
  }
}
