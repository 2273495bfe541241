package io.xskip.rewrite;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.scan.SkippingIndex;
import io.xskip.shims.Scala;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.datasources.FileIndex;

/** How often each indexed dataset occurs in a plan and in the plans of its expressions. */
final class Occurrences {
  private static final int PLAN = 0;
  private static final int EXPRESSION = 1;
  private static final int SCALAR = 2;

  private final Map<FileIndex, Integer> counts = new HashMap<>();

  /** The occurrences in plans of expressions. */
  private final Map<FileIndex, Integer> inExpressions = new HashMap<>();

  /** The occurrences in scalar subqueries that contain no other subqueries. */
  private final Map<FileIndex, Integer> inSubqueries = new HashMap<>();

  static Occurrences in(LogicalPlan plan) {
    Occurrences occurrences = new Occurrences();
    occurrences.add(plan, PLAN);
    return occurrences;
  }

  /** Returns whether there are several indexed datasets. */
  boolean areSeveral() {
    return counts.size() > 1;
  }

  /** Returns whether a dataset occurs once, so that Spark can share no part of a plan over it. */
  boolean isSingle(FileIndex files) {
    return count(counts, files) <= 1;
  }

  /** Returns whether a dataset occurs in no plan of an expression. */
  boolean isOutsideOfExpressions(FileIndex files) {
    return count(inExpressions, files) == 0;
  }

  /**
   * Returns whether a dataset occurs once, and otherwise only in scalar subqueries. Spark shares no
   * part of them with a plan over a filter that contains a subquery.
   */
  boolean isSingleBesideSubqueries(FileIndex files) {
    return count(counts, files) - count(inSubqueries, files) <= 1;
  }

  private static int count(Map<FileIndex, Integer> counts, FileIndex files) {
    Integer count = (Integer) counts.get(files);
    return count == null ? 0 : count.intValue();
  }

  private static void increase(Map<FileIndex, Integer> counts, FileIndex files) {
    counts.put(files, Integer.valueOf(count(counts, files) + 1));
  }

  private void add(LogicalPlan plan, int place) {
    Object index = RelationChain.indexOf(plan);
    if (index instanceof SkippingIndex) {
      FileIndex files = ((SkippingIndex) index).delegate();
      increase(counts, files);
      if (place != PLAN) {
        increase(inExpressions, files);
      }
      if (place == SCALAR) {
        increase(inSubqueries, files);
      }
    }
    for (Expression expression : Scala.list(plan.expressions())) {
      for (Expression node : ExpressionTree.nodes(expression)) {
        addPlan(node);
      }
    }
    for (LogicalPlan child : Scala.list(plan.children())) {
      add(child, place);
    }
  }

  private void addPlan(Expression node) {
    Object plan = node instanceof PlanExpression ? ((PlanExpression<?>) node).plan() : null;
    if (plan instanceof LogicalPlan) {
      boolean hasSubqueries = ((LogicalPlan) plan).containsPattern(TreePattern.PLAN_EXPRESSION());
      add(
          (LogicalPlan) plan,
          node instanceof ScalarSubquery && !hasSubqueries ? SCALAR : EXPRESSION);
    }
  }
}
