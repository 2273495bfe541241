package io.xskip.catalyst;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import scala.collection.immutable.Seq;

/** Subqueries in filters, whose values are known once a query runs. */
public final class Subqueries {
  private Subqueries() {}

  /** Returns the filters whose values are known before a query runs. */
  public static Seq<Expression> without(Seq<Expression> filters) {
    List<Expression> known = new ArrayList<>();
    for (Expression filter : Scala.list(filters)) {
      if (!isIn(filter)) {
        known.add(filter);
      }
    }
    return (Seq<Expression>) Scala.seq(known);
  }

  /** Returns whether an expression contains a subquery. */
  public static boolean isIn(Expression expression) {
    if (expression instanceof PlanExpression) {
      return true;
    }
    for (Expression child : Scala.list(expression.children())) {
      if (isIn(child)) {
        return true;
      }
    }
    return false;
  }
}
