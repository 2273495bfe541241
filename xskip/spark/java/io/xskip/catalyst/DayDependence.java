package io.xskip.catalyst;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampType;

/**
 * The texts that an expression reads as timestamps: a time such as {@code 10:15} without a date is
 * of the present day.
 */
public final class DayDependence {
  // a time without a date, after white space and control characters, as in
  // SparkDateTimeUtils.parseTimestampString
  private static final Pattern TIME = Pattern.compile("^[\\x00-\\x20\\x7f]*(T|[0-9]{1,2}:)");

  // functions that read texts, or values of any type, as a schema or a type says
  private static final Set<String> PARSERS =
      new HashSet<>(
          Arrays.asList(
              "CsvToStructs",
              "JsonToStructs",
              "XmlToStructs",
              "VariantGet",
              "Invoke",
              "StaticInvoke"));

  private final List<Expression> texts = new ArrayList<>();
  private boolean isUnknown = false;

  private DayDependence(Expression expression) {
    try {
      visit(expression);
    } catch (RuntimeException e) { // a node without a type
      isUnknown = true;
    }
  }

  static DayDependence of(Expression expression) {
    return new DayDependence(expression);
  }

  private void visit(Expression expression) {
    if (NestedTypes.contain(expression.dataType(), TimestampType.class)) {
      visitTimestamps(expression);
    }
    for (Expression child : Scala.list(expression.children())) {
      visit(child);
    }
  }

  private void visitTimestamps(Expression expression) {
    if (expression instanceof Cast) {
      Expression child = ((Cast) expression).child();
      boolean isText = child.dataType() instanceof StringType;
      if (isText && expression.dataType() instanceof TimestampType) {
        texts.add(child);
      } else if (NestedTypes.contain(child.dataType(), StringType.class)
          || isVariant(child.dataType())) {
        isUnknown = true;
      }
    } else if (PARSERS.contains(expression.getClass().getSimpleName())) {
      isUnknown = true;
    }
  }

  private static boolean isVariant(DataType type) {
    return type.typeName().equals("variant");
  }

  /** Returns whether the value for a row can depend on the day. */
  boolean isPossible(InternalRow row) {
    if (isUnknown) {
      return true;
    }
    for (Expression text : texts) {
      Object value = text.eval(row);
      if (value != null && TIME.matcher(value.toString()).find()) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the names of each column, and its fields, whose texts are read as timestamps; null if
   * other texts are, too.
   */
  String[][] columns() {
    if (isUnknown) {
      return null;
    }
    String[][] columns = new String[texts.size()][];
    for (int i = 0; i < columns.length; i++) {
      Expression text = (Expression) texts.get(i);
      if (!ColumnBinding.isColumn(text)) {
        return null;
      }
      columns[i] = ColumnBinding.path(text);
    }
    return columns;
  }
}
