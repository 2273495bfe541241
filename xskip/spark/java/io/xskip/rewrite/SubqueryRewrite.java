package io.xskip.rewrite;

import io.xskip.catalyst.ExpressionTree;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/**
 * Rewrites filters with scalar subqueries: the values of the subqueries leave out files while the
 * query runs [PLN-SQ].
 */
final class SubqueryRewrite implements Rewrite {
  private final Occurrences occurrences;

  /**
   * Creates the rewrite of a plan.
   *
   * @param occurrences the datasets in the whole plan
   */
  SubqueryRewrite(Occurrences occurrences) {
    this.occurrences = occurrences;
  }

  @Override
  public boolean matches(LogicalPlan node) {
    return node instanceof Filter
        && ((Filter) node).condition().containsPattern(TreePattern.SCALAR_SUBQUERY());
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan filter) throws Exception {
    RelationChain chain = RelationChain.of(filter);
    if (chain == null || !occurrences.isSingleBesideSubqueries(chain.files())) {
      return filter;
    }
    Expression subquery = null;
    for (Expression condition : chain.filters()) {
      if (isTest(condition)) { // Spark runs the rule until it changes nothing
        return filter;
      }
      Expression found = condition.deterministic() ? subquery(condition) : null;
      if (found != null && !condition.references().isEmpty() && !chain.isOnPartitions(condition)) {
        subquery = found;
      }
    }
    NumberedRelation relation = subquery == null ? null : NumberedRelation.of(chain);
    return relation == null
        ? filter
        : relation.filtered(new SubqueryPruning(relation.listing()), new IsNull(subquery));
  }

  private static boolean isTest(Expression condition) {
    for (Object value : ExpressionTree.constants(condition)) {
      if (value instanceof SubqueryPruning) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns a scalar subquery of a condition whose subqueries are all of this kind; otherwise null.
   */
  private static Expression subquery(Expression condition) {
    Expression subquery = null;
    for (Expression node : ExpressionTree.nodes(condition)) {
      if (node instanceof PlanExpression) {
        if (!(node instanceof ScalarSubquery) || ((ScalarSubquery) node).isCorrelated()) {
          return null;
        }
        subquery = node;
      }
    }
    return subquery;
  }
}
