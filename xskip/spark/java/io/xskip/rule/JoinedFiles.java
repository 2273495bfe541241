package io.xskip.rule;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode$;
import org.apache.spark.sql.execution.InSubqueryExec;
import org.apache.spark.sql.types.BooleanType$;
import scala.collection.immutable.Seq;

/**
 * A filter on the number of a file, which Spark evaluates in the driver while the query runs: TRUE
 * if a row of the file can have one of the keys of the other side of a join.
 *
 * <p>The child holds the number of the file and the subquery with the keys. Spark finds both there,
 * and replaces the subquery by its result, or by TRUE if it does not broadcast the other side.
 */
final class JoinedFiles extends DynamicPruningExpression {
  private static final long serialVersionUID = 1L;

  private final transient JoinPruning pruning;

  JoinedFiles(Expression child, JoinPruning pruning) {
    super(child);
    this.pruning = pruning;
  }

  /** Returns whether the filter is by the keys of another side, in a plan that does not run. */
  boolean isBy(Attribute column, Expression key) {
    DynamicPruningSubquery keys =
        (DynamicPruningSubquery) find(child(), DynamicPruningSubquery.class);
    return keys != null && pruning.isOfColumn(column) && Scala.list(keys.buildKeys()).contains(key);
  }

  @Override
  public DynamicPruningExpression copy(Expression child) {
    return new JoinedFiles(child, pruning);
  }

  @Override
  public Object eval(InternalRow partition) {
    BoundReference number = (BoundReference) find(child(), BoundReference.class);
    InSubqueryExec keys = (InSubqueryExec) find(child(), InSubqueryExec.class);
    boolean isKnown = number != null && keys != null && keys.values().isDefined();
    return Boolean.valueOf(
        !isKnown
            || pruning.keeps(partition.getInt(number.ordinal()), (Object[]) keys.values().get()));
  }

  private static Expression find(Expression expression, Class<?> type) {
    if (type.isInstance(expression)) {
      return expression;
    }
    for (Expression child : Scala.list(expression.children())) {
      Expression found = find(child, type);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    String filter =
        context.addReferenceObj(
            "filter", this, "org.apache.spark.sql.catalyst.expressions.Expression");
    String input = context.INPUT_ROW() == null ? "null" : context.INPUT_ROW();
    String name = context.freshName("isJoined");
    String text = "boolean " + name + " = ((Boolean) " + filter + ".eval(" + input + "));";
    Seq<String> parts = (Seq<String>) Scala.seq(Arrays.asList(new String[] {text}));
    Seq<JavaCode> none = (Seq<JavaCode>) Scala.seq(new ArrayList<JavaCode>());
    return new ExprCode(
        new CodeBlock(parts, none),
        JavaCode$.MODULE$.isNullExpression("false"),
        JavaCode$.MODULE$.variable(name, BooleanType$.MODULE$));
  }

  /** Executors get plans without this class, and evaluate no filter on files. */
  public Object writeReplace() {
    return Literal$.MODULE$.TrueLiteral();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof JoinedFiles
        && ((JoinedFiles) other).child().equals(child())
        && ((JoinedFiles) other).pruning.isOfKey(pruning);
  }

  @Override
  public int hashCode() {
    return child().hashCode() * 31 + 5;
  }
}
