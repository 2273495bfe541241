package io.xskip.questdb;

import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import scala.Product;

/** The columns that Spark's filters for data sources name, and the literals of comparisons. */
final class Attributes {
  private Attributes() {}

  /** Returns whether a filter names a column; Spark quotes names that are no identifiers. */
  static boolean isOf(String attribute, String column) {
    return attribute.equals(
        attribute.startsWith("`") ? "`" + column.replace("`", "``") + "`" : column);
  }

  /** Returns the literal of a comparison, or null for a filter of another kind. */
  static Object literal(Filter filter) {
    boolean isComparison =
        filter instanceof EqualTo
            || filter instanceof GreaterThan
            || filter instanceof GreaterThanOrEqual
            || filter instanceof LessThan
            || filter instanceof LessThanOrEqual;
    return isComparison ? ((Product) filter).productElement(1) : null; // after the attribute
  }

  /** Returns the literal of a comparison of a column, or null for another filter. */
  static Object literal(Filter filter, String column) {
    Object literal = literal(filter);
    boolean isOfColumn =
        literal != null && isOf((String) ((Product) filter).productElement(0), column);
    return isOfColumn ? literal : null;
  }
}
