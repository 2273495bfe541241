package io.xskip.rewrite;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.shims.Scala;
import java.lang.reflect.Constructor;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.collection.immutable.Seq;

/** The side of a join whose keys leave out files of the other one; a join compares one of them. */
final class OtherSide {
  private final LogicalPlan plan;
  private final Seq<Expression> keys;
  private final int position;

  OtherSide(LogicalPlan plan, Seq<Expression> keys, int position) {
    this.plan = plan;
    this.keys = keys;
    this.position = position;
  }

  /** Returns the side with another one of its keys. */
  OtherSide withKey(int position) {
    return new OtherSide(plan, keys, position);
  }

  Expression key() {
    return (Expression) keys.apply(position);
  }

  /**
   * Returns a subquery with the keys, which Spark replaces by TRUE without a broadcast.
   *
   * @param value the value that is to be among the keys
   */
  Expression subquery(Expression value) throws Exception {
    Object[] arguments = {
      value,
      plan,
      keys,
      Integer.valueOf(position),
      Boolean.TRUE,
      NamedExpression$.MODULE$.newExprId(),
      Option.empty(),
      Option.empty()
    };
    Constructor<?> constructor = DynamicPruningSubquery.class.getConstructors()[0];
    if (constructor.getParameterTypes()[3] != int.class) { // before Spark 4 a single position
      Integer[] positions = {Integer.valueOf(position)};
      arguments[3] = Scala.seq(Arrays.asList(positions));
    }
    return (Expression)
        constructor.newInstance(Arrays.copyOf(arguments, constructor.getParameterCount()));
  }

  /** Returns whether an expression has a test of a column by the key, in a plan before it runs. */
  boolean isIn(Expression expression, Attribute column) {
    boolean hasTest = false;
    boolean hasKey = false;
    for (Expression node : ExpressionTree.nodes(expression)) {
      if (node instanceof Literal && ((Literal) node).value() instanceof JoinPruning) {
        hasTest |= ((JoinPruning) ((Literal) node).value()).isOfColumn(column);
      } else if (node instanceof DynamicPruningSubquery) {
        hasKey |= Scala.list(((DynamicPruningSubquery) node).buildKeys()).contains(key());
        hasTest |= ((DynamicPruningSubquery) node).pruningKey().semanticEquals(column);
      }
    }
    return hasTest && hasKey;
  }
}
