package io.xskip.rewrite;

import io.xskip.catalyst.NodeRewriter;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;

/** Replaces the aggregates of a plan node by other expressions, in the order of its parts. */
final class AggregateReplacement extends NodeRewriter<Expression> {
  private final AggregateParts parts;
  private final List<Expression> replacements;

  AggregateReplacement(AggregateParts parts, List<Expression> replacements) {
    this.parts = parts;
    this.replacements = replacements;
  }

  @Override
  protected boolean matches(Object node) {
    return node instanceof AggregateExpression;
  }

  @Override
  protected Object rewrite(Object node) {
    return replacements.get(parts.indexOf((AggregateExpression) node));
  }
}
