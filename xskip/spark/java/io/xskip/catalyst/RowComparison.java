package io.xskip.catalyst;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** A comparison of a struct column, or of a row value such as {@code (a, b)}, with literals. */
final class RowComparison {
  final String kind; // as the encoding names it
  final Expression row; // a column or a CreateNamedStruct
  final List<InternalRow> literals; // null for NULL

  private RowComparison(String kind, Expression row, List<InternalRow> literals) {
    this.kind = kind;
    this.row = row;
    this.literals = literals;
  }

  /** Returns an expression as such a comparison, or null for any other expression. */
  static RowComparison of(Expression expression) {
    if (expression instanceof EqualTo) {
      EqualTo equal = (EqualTo) expression;
      return ofTwo("EqualToRow", equal.left(), equal.right());
    }
    if (expression instanceof EqualNullSafe) {
      EqualNullSafe equal = (EqualNullSafe) expression;
      return ofTwo("EqualNullSafeRow", equal.left(), equal.right());
    }
    if (expression instanceof InSet && hasFields(((InSet) expression).child())) {
      InSet in = (InSet) expression;
      return ofList(in.child(), Scala.list(in.hset()));
    }
    if (expression instanceof In && hasFields(((In) expression).value())) {
      In in = (In) expression;
      return ofList(in.value(), Scala.list(in.list()));
    }
    return null;
  }

  private static RowComparison ofTwo(String kind, Expression left, Expression right) {
    boolean isFlipped = left instanceof Literal;
    Expression row = isFlipped ? right : left;
    Expression literal = isFlipped ? left : right;
    if (!(literal instanceof Literal) || !hasFields(row)) {
      return null;
    }
    List<InternalRow> literals = new ArrayList<>();
    literals.add((InternalRow) ((Literal) literal).value());
    return new RowComparison(kind, row, literals);
  }

  private static RowComparison ofList(Expression row, List<?> values) {
    List<InternalRow> literals = new ArrayList<>();
    for (Object element : values) {
      Object value = element instanceof Literal ? ((Literal) element).value() : element;
      if (value != null && !(value instanceof InternalRow)) {
        return null;
      }
      literals.add((InternalRow) value);
    }
    return new RowComparison("InRow", row, literals);
  }

  /** Returns whether an expression is a struct whose fields are expressions of their own. */
  static boolean hasFields(Expression expression) {
    return expression.dataType() instanceof StructType
        && (expression instanceof CreateNamedStruct || ColumnBinding.isColumn(expression));
  }

  /** Returns the fields of a struct for which {@link #hasFields} is true. */
  static List<Expression> fields(Expression struct) {
    if (struct instanceof CreateNamedStruct) {
      return (List<Expression>) Scala.list(((CreateNamedStruct) struct).valExprs());
    }
    List<Expression> fields = new ArrayList<>();
    int count = ((StructType) struct.dataType()).length();
    for (int i = 0; i < count; i++) {
      fields.add(new GetStructField(struct, i, Option.<String>empty()));
    }
    return fields;
  }
}
