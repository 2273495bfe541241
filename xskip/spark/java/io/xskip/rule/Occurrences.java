package io.xskip.rule;

import io.xskip.scan.SkippingIndex;
import io.xskip.shims.Scala;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;

/** How often each indexed dataset occurs in a plan and in the plans of its expressions. */
final class Occurrences {
  private final Map<FileIndex, Integer> counts = new HashMap<>();

  static Occurrences in(LogicalPlan plan) {
    Occurrences occurrences = new Occurrences();
    occurrences.add(plan);
    return occurrences;
  }

  /** Returns whether a dataset occurs once, so that Spark can share no part of a plan over it. */
  boolean isSingle(FileIndex files) {
    Integer count = (Integer) counts.get(files);
    return count == null || count.intValue() == 1;
  }

  private void add(LogicalPlan plan) {
    Object index = RelationChain.indexOf(plan);
    if (index instanceof SkippingIndex) {
      FileIndex files = ((SkippingIndex) index).delegate();
      Integer count = (Integer) counts.get(files);
      counts.put(files, Integer.valueOf(count == null ? 1 : count.intValue() + 1));
    }
    for (Expression expression : Scala.list(plan.expressions())) {
      addAll(expression);
    }
    for (LogicalPlan child : Scala.list(plan.children())) {
      add(child);
    }
  }

  private void addAll(Expression expression) {
    if (expression instanceof PlanExpression
        && ((PlanExpression<?>) expression).plan() instanceof LogicalPlan) {
      add((LogicalPlan) ((PlanExpression<?>) expression).plan());
    }
    for (Expression child : Scala.list(expression.children())) {
      addAll(child);
    }
  }
}
