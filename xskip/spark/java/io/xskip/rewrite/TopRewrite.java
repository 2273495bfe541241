package io.xskip.rewrite;

import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;

/**
 * Rewrites ORDER BY with LIMIT over a relation: files whose rows all come after enough rows of
 * other files are not read [PLN-TK].
 */
final class TopRewrite implements Rewrite {
  @Override
  public boolean matches(LogicalPlan node) {
    return node instanceof LocalLimit
        && ((LocalLimit) node).limitExpr() instanceof Literal
        && sort(((LocalLimit) node).child()) != null;
  }

  /** Returns the sort of a relation below projections, or null. */
  private static Sort sort(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project) {
      node = ((Project) node).child();
    }
    return node instanceof Sort
            && ((Sort) node).global()
            && !((Sort) node).order().isEmpty()
            && RelationChain.of(((Sort) node).child()) != null
        ? (Sort) node
        : null;
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    Object rows = ((Literal) ((LocalLimit) node).limitExpr()).value();
    Sort sort = sort(((LocalLimit) node).child());
    List<SortOrder> orders = Collections.singletonList((SortOrder) sort.order().head());
    return TopSelection.rewrite(
        node,
        sort.child(),
        Collections.<Expression>emptyList(),
        orders,
        rows instanceof Integer ? ((Integer) rows).intValue() : 0);
  }
}
