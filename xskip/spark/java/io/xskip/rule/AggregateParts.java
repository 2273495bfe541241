package io.xskip.rule;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;

/** The aggregates of a plan node, as sums and bounds of what is known of single files. */
final class AggregateParts extends FileSums {
  private final RelationChain chain;
  private final List<AggregatePart> parts = new ArrayList<>();

  private final FactColumns columns;

  private AggregateParts(RelationChain chain, FactColumns columns) {
    this.chain = chain;
    this.columns = columns;
  }

  /**
   * Returns the aggregates in expressions, or null if one of them needs the rows.
   *
   * @param columns gets the columns of the files that the aggregates need
   */
  static AggregateParts of(List<Expression> expressions, RelationChain chain, FactColumns columns) {
    AggregateParts parts = new AggregateParts(chain, columns);
    for (Expression expression : expressions) {
      for (Expression node : ExpressionTree.nodes(expression)) {
        if (node instanceof AggregateExpression && !parts.add((AggregateExpression) node)) {
          return null;
        }
      }
    }
    return parts;
  }

  private boolean add(AggregateExpression aggregate) {
    AggregateFunction function = aggregate.aggregateFunction();
    if (aggregate.isDistinct() || aggregate.filter().isDefined() || !isKnown(function)) {
      return false;
    }
    Expression child = (Expression) function.children().head();
    if (function instanceof Count && child instanceof Literal) {
      parts.add(new AggregatePart.Rows(aggregate));
      return ((Literal) child).value() != null;
    }
    Attribute column = chain.column(child);
    if (column == null || !(function instanceof Count || ExactColumns.contain(column))) {
      return false;
    }
    int partition = chain.partition(column);
    int position = partition < 0 ? columns.position(column) : -1;
    parts.add(
        function instanceof Count
            ? new AggregatePart.Values(aggregate, position, partition)
            : new AggregatePart.Bound(aggregate, position, partition, column.dataType()));
    return true;
  }

  private static boolean isKnown(AggregateFunction function) {
    return function.children().length() == 1
        && (function.getClass() == Count.class
            || function.getClass() == Min.class
            || function.getClass() == Max.class);
  }

  @Override
  FactColumns columns() {
    return columns;
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
