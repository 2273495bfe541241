package io.xskip.catalyst;

import io.xskip.shims.Scala;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockLength;
import org.apache.spark.sql.catalyst.expressions.InputFileBlockStart;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;

/** The ranges of files that the tasks of a query read, as values of the query. */
public final class BlockPositions {
  private static final String START = "file_block_start";
  private static final String LENGTH = "file_block_length";

  private BlockPositions() {}

  /** Returns whether a plan, or a subquery in it, shows such ranges. */
  public static boolean areShown(LogicalPlan plan) {
    if (plan.children().isEmpty()) { // the expressions of a relation are its columns
      return false;
    }
    for (Expression expression : Scala.list(plan.expressions())) {
      if (shows(ExpressionTree.nodes(expression))) {
        return true;
      }
    }
    for (Object subquery : Scala.list(plan.subqueries())) {
      if (subquery instanceof LogicalPlan && areShown((LogicalPlan) subquery)) {
        return true;
      }
    }
    for (Object child : Scala.list(plan.children())) {
      if (areShown((LogicalPlan) child)) {
        return true;
      }
    }
    return false;
  }

  private static boolean shows(List<Expression> nodes) {
    Set<Expression> taken = new HashSet<>(); // columns of which only another field is taken
    for (Expression node : nodes) {
      if (node instanceof InputFileBlockStart || node instanceof InputFileBlockLength) {
        return true;
      }
      if (node instanceof GetStructField) {
        GetStructField field = (GetStructField) node;
        String name = field.childSchema().fieldNames()[field.ordinal()];
        if (name.equals(START) || name.equals(LENGTH)) {
          return true;
        }
        taken.add(field.child());
      }
    }
    for (Expression node : nodes) {
      if (node instanceof AttributeReference && !taken.contains(node) && hasRanges(node)) {
        return true;
      }
    }
    return false;
  }

  private static boolean hasRanges(Expression column) {
    if (!(column.dataType() instanceof StructType)) {
      return false;
    }
    for (String name : ((StructType) column.dataType()).fieldNames()) {
      if (name.equals(START) || name.equals(LENGTH)) {
        return true;
      }
    }
    return false;
  }
}
