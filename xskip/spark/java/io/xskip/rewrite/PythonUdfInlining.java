package io.xskip.rewrite;

import io.xskip.catalyst.NodeRewriter;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Product;
import scala.collection.immutable.Seq;

/**
 * Replaces the results of Python functions, to which the conditions above their plan node refer, by
 * the calls.
 */
final class PythonUdfInlining extends NodeRewriter<Expression> {
  private final Map<ExprId, Expression> callsByResult = new HashMap<>();

  /** Creates the inlining of the calls of a node for which {@link #isEvaluation} is true. */
  PythonUdfInlining(LogicalPlan evaluation) {
    // The first elements of BatchEvalPython and ArrowEvalPython are the calls and their results.
    Seq<?> calls = (Seq<?>) ((Product) evaluation).productElement(0);
    Seq<?> results = (Seq<?>) ((Product) evaluation).productElement(1);
    for (int i = 0; i < calls.length(); i++) {
      callsByResult.put(((Attribute) results.apply(i)).exprId(), (Expression) calls.apply(i));
    }
  }

  static boolean isEvaluation(LogicalPlan plan) {
    return plan.getClass().getSimpleName().endsWith("EvalPython");
  }

  @Override
  protected boolean matches(Object node) {
    return node instanceof Attribute && callsByResult.containsKey(((Attribute) node).exprId());
  }

  @Override
  protected Object rewrite(Object node) {
    return callsByResult.get(((Attribute) node).exprId());
  }
}
