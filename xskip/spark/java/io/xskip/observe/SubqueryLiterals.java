package io.xskip.observe;

import io.xskip.catalyst.NodeRewriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.ScalarSubquery;

/**
 * Replaces scalar subqueries that have run by their values, and what depends on them alone, such as
 * a comparison with NULL.
 */
final class SubqueryLiterals extends NodeRewriter<Expression> {
  @Override
  protected boolean matches(Object node) {
    boolean isFoldable =
        node instanceof Expression && !(node instanceof Literal) && ((Expression) node).foldable();
    return node instanceof ScalarSubquery || isFoldable || isOfNull(node);
  }

  private static boolean isOfNull(Object node) {
    if (!(node instanceof BinaryComparison) || node instanceof EqualNullSafe) {
      return false;
    }
    BinaryComparison comparison = (BinaryComparison) node;
    return isNull((Expression) comparison.left()) || isNull((Expression) comparison.right());
  }

  private static boolean isNull(Expression expression) {
    return expression instanceof Literal && ((Literal) expression).value() == null;
  }

  @Override
  protected Object rewrite(Object node) {
    Expression expression = (Expression) node;
    Object value = isOfNull(node) ? null : expression.eval((InternalRow) null);
    return new Literal(value, expression.dataType());
  }
}
