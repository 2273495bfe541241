package io.xskip.catalyst;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/** Subqueries in filters, whose values are known once a query runs. */
public final class Subqueries {
  private Subqueries() {}

  /** Returns the filters whose values are known before a query runs. */
  public static Seq<Expression> without(Seq<Expression> filters) {
    VectorBuilder<Expression> known = new VectorBuilder<>();
    scala.collection.Iterator<Expression> iterator = filters.iterator();
    while (iterator.hasNext()) {
      Expression filter = (Expression) iterator.next();
      if (!isIn(filter)) {
        known.$plus$eq(filter);
      }
    }
    return known.result();
  }

  private static boolean isIn(Expression expression) {
    if (expression instanceof PlanExpression) {
      return true;
    }
    scala.collection.Iterator<Expression> children = expression.children().iterator();
    while (children.hasNext()) {
      if (isIn((Expression) children.next())) {
        return true;
      }
    }
    return false;
  }
}
