package io.xskip.hook;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Rewrites the plans inside expressions: subqueries, and the copies of a join's side that dynamic
 * partition pruning and runtime filters add.
 *
 * <p>Spark executes such a copy by the exchange of the join's side if both are equal. So a copy and
 * its original get the same file indexes.
 */
final class SubqueryRewriter extends NodeRewriter<Expression> {
  private final RelationRewriter relations;

  SubqueryRewriter(RelationRewriter relations) {
    this.relations = relations;
  }

  @Override
  protected boolean matches(Object node) {
    return node instanceof PlanExpression
        && ((PlanExpression<?>) node).plan() instanceof LogicalPlan;
  }

  @Override
  @SuppressWarnings("unchecked")
  protected Object rewrite(Object node) {
    PlanExpression<LogicalPlan> subquery = (PlanExpression<LogicalPlan>) node;
    LogicalPlan plan = (LogicalPlan) subquery.plan();
    LogicalPlan rewritten = relations.rewritePlan(plan);
    return rewritten == plan ? subquery : subquery.withNewPlan(rewritten);
  }
}
