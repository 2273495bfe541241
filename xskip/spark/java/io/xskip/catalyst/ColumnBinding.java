package io.xskip.catalyst;

import java.util.ArrayDeque;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractPartialFunction;

/**
 * A rewrite of one expression over one column, or one field of it, which becomes the first value of
 * a row.
 */
final class ColumnBinding extends AbstractPartialFunction<Object, Object> {
  private DataType type = null;

  /** Returns whether an expression is a column, or a field of nested structs in a column. */
  static boolean isColumn(Expression expression) {
    return root(expression) instanceof AttributeReference;
  }

  /** Returns the expression in whose structs an expression reads a field; else itself. */
  static Expression root(Expression expression) {
    Expression root = expression;
    while (root instanceof GetStructField) {
      root = ((GetStructField) root).child();
    }
    return root;
  }

  /** Returns the names of a column and of the fields of structs in it. */
  static String[] path(Expression column) {
    ArrayDeque<String> path = new ArrayDeque<>();
    Expression parent = column;
    while (parent instanceof GetStructField) {
      GetStructField field = (GetStructField) parent;
      parent = field.child();
      path.addFirst(((StructType) parent.dataType()).fields()[field.ordinal()].name());
    }
    path.addFirst(((AttributeReference) parent).name());
    return (String[]) path.toArray(new String[0]);
  }

  /** Returns the type of the replaced column, or null if the expression contained none. */
  DataType type() {
    return type;
  }

  @Override
  public boolean isDefinedAt(Object expression) {
    return isColumn((Expression) expression);
  }

  @Override
  public Object apply(Object expression) {
    type = ((Expression) expression).dataType();
    return new BoundReference(0, type, true);
  }
}
