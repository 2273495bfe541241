package io.xskip.catalyst;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;

/** The nodes and the literals of an expression. */
public final class ExpressionTree {
  private ExpressionTree() {}

  /** Returns an expression and all expressions below it. */
  public static List<Expression> nodes(Expression root) {
    List<Expression> nodes = new ArrayList<>();
    nodes.add(root);
    for (int i = 0; i < nodes.size(); i++) {
      nodes.addAll(Scala.list(((Expression) nodes.get(i)).children()));
    }
    return nodes;
  }

  /** Returns the conditions of which a condition is the conjunction, in their order. */
  public static List<Expression> conjuncts(Expression condition) {
    List<Expression> conjuncts = new ArrayList<>();
    if (condition instanceof And) {
      conjuncts.addAll(conjuncts(((And) condition).left()));
      conjuncts.addAll(conjuncts(((And) condition).right()));
    } else {
      conjuncts.add(condition);
    }
    return conjuncts;
  }

  /** Returns the values of the literals in an expression. */
  public static List<Object> constants(Expression root) {
    List<Object> values = new ArrayList<>();
    for (Expression node : nodes(root)) {
      if (node instanceof Literal) {
        values.add(((Literal) node).value());
      }
    }
    return values;
  }
}
