package io.xskip.rule;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.catalyst.NodeRewriter;
import io.xskip.common.Failures;
import io.xskip.common.SkippingSettings;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/**
 * Rewrites filters with scalar subqueries: the values of the subqueries leave out files while the
 * query runs [PLN-SQ].
 */
final class SubqueryRewrite extends NodeRewriter<LogicalPlan> {
  private final Occurrences occurrences;
  private final boolean isStrict;

  /**
   * Creates the rewrite of a plan.
   *
   * @param occurrences the datasets in the whole plan
   */
  SubqueryRewrite(Occurrences occurrences, SkippingSettings settings) {
    this.occurrences = occurrences;
    isStrict = settings.strict;
  }

  @Override
  protected boolean matches(Object node) {
    return node instanceof Filter
        && ((Filter) node).condition().containsPattern(TreePattern.SCALAR_SUBQUERY());
  }

  @Override
  protected Object rewrite(Object node) {
    try {
      return pruned((Filter) node);
    } catch (Throwable t) {
      Failures.logFailure("the rewrite of a filter with a subquery", t);
      if (isStrict) {
        throw new RuntimeException(t);
      }
      return node;
    }
  }

  private LogicalPlan pruned(Filter filter) throws Exception {
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
      if (found instanceof PlanExpression && chain.isOnFiles(condition)) {
        subquery = found;
      }
    }
    NumberedRelation relation = subquery == null ? null : NumberedRelation.of(chain);
    return relation == null
        ? filter
        : relation.filtered(new SubqueryPruning(relation.listing()), new IsNull(subquery));
  }

  private static boolean isTest(Expression condition) {
    for (Expression node : ExpressionTree.nodes(condition)) {
      if (node instanceof Literal && ((Literal) node).value() instanceof SubqueryPruning) {
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
