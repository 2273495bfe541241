package io.xskip.rewrite;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.DataType;

/** The columns whose values have the order and the form in which metadata keep their bounds. */
final class ExactColumns {
  /** Values of other types, such as strings with a collation, have several forms. */
  private static final List<String> TYPES =
      Arrays.asList(
          "tinyint",
          "smallint",
          "int",
          "bigint",
          "boolean",
          "date",
          "timestamp",
          "timestamp_ntz",
          "float",
          "double",
          "string");

  private static final String DECIMAL = "decimal";

  /** The key of a type in the metadata of a column whose values Spark pads or checks. */
  private static final String CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING";

  private ExactColumns() {}

  static boolean contain(Attribute column) {
    return haveType(column.dataType()) && !column.metadata().contains(CHAR_TYPE);
  }

  static boolean haveType(DataType type) {
    String name = type.catalogString();
    return TYPES.contains(name) || name.startsWith(DECIMAL);
  }
}
