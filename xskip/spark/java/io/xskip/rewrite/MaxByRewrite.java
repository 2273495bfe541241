package io.xskip.rewrite;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortDirection;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.MaxBy;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.MinBy;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/**
 * Rewrites {@code max_by} and {@code min_by} over a relation, with and without groups: files that
 * cannot have the row with the greatest or the least value are not read [PLN-TK-3].
 */
final class MaxByRewrite implements Rewrite {
  @Override
  public boolean matches(LogicalPlan node) {
    if (!(node instanceof Aggregate)) {
      return false;
    }
    List<SortOrder> orders = orders((Aggregate) node);
    return orders != null && RelationChain.of(((Aggregate) node).child()) != null;
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    Aggregate aggregate = (Aggregate) node;
    List<Expression> keys = Scala.list(aggregate.groupingExpressions());
    return TopSelection.rewrite(node, aggregate.child(), keys, orders(aggregate), 1);
  }

  /**
   * Returns the orders whose first rows decide all aggregates, or null if others do, or if none
   * returns the value of another column.
   */
  private static List<SortOrder> orders(Aggregate aggregate) {
    List<SortOrder> orders = new ArrayList<>();
    boolean hasOther = false;
    for (Expression result : AggregateRewrite.results(aggregate)) {
      for (Expression each : ExpressionTree.nodes(result)) {
        if (each instanceof AggregateExpression) {
          SortOrder order = order((AggregateExpression) each);
          if (order == null) {
            return null;
          }
          orders.add(order);
          hasOther = hasOther || isOfTwo((AggregateExpression) each);
        }
      }
    }
    return hasOther ? orders : null;
  }

  /** Returns whether an aggregate returns the value of another column than that of its order. */
  private static boolean isOfTwo(AggregateExpression aggregate) {
    return aggregate.aggregateFunction().children().length() == 2;
  }

  /** Returns the order whose first row decides an aggregate, or null. */
  private static SortOrder order(AggregateExpression aggregate) {
    AggregateFunction function = aggregate.aggregateFunction();
    if (aggregate.filter().isDefined()) {
      return null;
    }
    Class<?> type = function.getClass();
    if (type == MaxBy.class || type == Max.class) {
      return order(function, (SortDirection) Descending$.MODULE$);
    }
    return type == MinBy.class || type == Min.class
        ? order(function, (SortDirection) Ascending$.MODULE$)
        : null;
  }

  /** Returns the order by the last argument of an aggregate, which passes over NULLs. */
  private static SortOrder order(AggregateFunction function, SortDirection direction) {
    Seq<Expression> none = (Seq<Expression>) Scala.seq(new ArrayList<Expression>());
    return new SortOrder(
        (Expression) function.children().last(), direction, NullsLast$.MODULE$, none);
  }
}
