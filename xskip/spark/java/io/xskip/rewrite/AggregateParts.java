package io.xskip.rewrite;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.types.IntegralType;

/** The aggregates of a plan node, as sums and bounds of what is known of single files. */
final class AggregateParts extends FileSums {
  private final AggregateOperands operands;
  private final List<AggregatePart> parts = new ArrayList<>();

  private AggregateParts(AggregateOperands operands) {
    this.operands = operands;
  }

  /**
   * Returns the aggregates in expressions, or null if one of them needs the rows.
   *
   * @param operands gets the columns and the predicates that the aggregates need
   */
  static AggregateParts of(List<Expression> expressions, AggregateOperands operands)
      throws Exception {
    AggregateParts parts = new AggregateParts(operands);
    for (Expression expression : expressions) {
      for (Expression node : ExpressionTree.nodes(expression)) {
        if (node instanceof AggregateExpression) {
          AggregatePart part = part((AggregateExpression) node, operands);
          if (part == null || !part.operand().isKnowable()) {
            return null;
          }
          part.operand().addNeed(operands.columns(), part.need());
          parts.parts.add(part);
        }
      }
    }
    return parts;
  }

  private static AggregatePart part(AggregateExpression aggregate, AggregateOperands operands)
      throws Exception {
    AggregateFunction function = aggregate.aggregateFunction();
    if (aggregate.isDistinct() || function.children().length() != 1) {
      return null;
    }
    Class<?> type = function.getClass();
    Expression child = (Expression) function.children().head();
    AggregateOperand operand = operands.operand(child, aggregate.filter());
    if (type == Count.class) {
      return new AggregatePart.Count(aggregate, operand);
    }
    if (type == Sum.class && child.dataType() instanceof IntegralType) {
      return new AggregatePart.Total(aggregate, operand);
    }
    return (type == Min.class || type == Max.class) && ExactColumns.haveType(child.dataType())
        ? new AggregatePart.Bound(aggregate, operand, child.dataType())
        : null;
  }

  /** Returns the same aggregates over no file. */
  AggregateParts empty() {
    AggregateParts empty = new AggregateParts(operands);
    for (AggregatePart part : parts) {
      empty.parts.add(part.empty());
    }
    return empty;
  }

  @Override
  AggregateOperands operands() {
    return operands;
  }

  @Override
  boolean addFile(FileFacts files, ColumnFacts[] facts, int position) {
    for (AggregatePart part : parts) {
      if (!part.isKnown(files, facts, position)) {
        return false;
      }
    }
    for (AggregatePart part : parts) {
      part.add(files, facts, position);
    }
    return true;
  }

  /** Returns the aggregates in the order of the expressions. */
  List<AggregatePart> all() {
    return parts;
  }

  /** Returns the position of an aggregate of the expressions in {@link #all}. */
  int indexOf(AggregateExpression aggregate) {
    int position = 0;
    while (((AggregatePart) parts.get(position)).aggregate() != aggregate) {
      position++;
    }
    return position;
  }
}
