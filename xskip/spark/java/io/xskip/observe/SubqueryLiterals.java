package io.xskip.observe;

import io.xskip.catalyst.NodeRewriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.ScalarSubquery;

/** Replaces scalar subqueries that have run by their values, and what depends on them alone. */
final class SubqueryLiterals extends NodeRewriter<Expression> {
  @Override
  protected boolean matches(Object node) {
    return node instanceof ScalarSubquery
        || (node instanceof Expression
            && !(node instanceof Literal)
            && ((Expression) node).foldable());
  }

  @Override
  protected Object rewrite(Object node) {
    Expression expression = (Expression) node;
    return new Literal(expression.eval((InternalRow) null), expression.dataType());
  }
}
