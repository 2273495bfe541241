package io.xskip.questdb;

/** The columns that Spark's filters for data sources name. */
final class Attributes {
  private Attributes() {}

  /** Returns whether a filter names a column; Spark quotes names that are no identifiers. */
  static boolean isOf(String attribute, String column) {
    return attribute.equals(
        attribute.startsWith("`") ? "`" + column.replace("`", "``") + "`" : column);
  }
}
