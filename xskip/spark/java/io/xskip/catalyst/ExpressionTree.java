package io.xskip.catalyst;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** The nodes of an expression. */
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
}
