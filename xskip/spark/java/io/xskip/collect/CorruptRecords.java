package io.xskip.collect;

import io.xskip.read.ReadSchema;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * Corrupt records of JSON and XML, in which the values of a column depend on the other columns that
 * a query reads: Spark keeps some values from before or after the error, if it is inside of a
 * column that it reads.
 */
final class CorruptRecords {
  private static final String JSON_PARTIAL_RESULTS = "spark.sql.json.enablePartialResults";

  private CorruptRecords() {}

  /** Returns the name of the column of corrupt records. */
  static String columnName(Map<String, String> options, SQLConf conf) {
    Option<String> given = option(options, "columnNameOfCorruptRecord");
    return given.isEmpty() ? conf.columnNameOfCorruptRecord() : (String) given.get();
  }

  private static Option<String> option(Map<String, String> options, String name) {
    scala.collection.Iterator<String> names = options.keysIterator();
    while (names.hasNext()) {
      String given = (String) names.next();
      if (name.equalsIgnoreCase(given)) {
        return options.get(given);
      }
    }
    return Option.<String>empty();
  }

  /**
   * Returns whether values in corrupt records depend on the columns that a query reads. Spark skips
   * the rest of a JSON record after an error, unless the error is inside of a struct, an array or a
   * map. Without partial results, it passes over records beside one with a value of another type.
   */
  private static boolean matter(String format, StructType schema, boolean isPartial) {
    return format.equals("xml")
        || (format.equals("json") && (!isPartial || ReadSchema.isNested(schema)));
  }

  /** Returns a schema with the column of corrupt records, if its format has one. */
  static StructType readable(String format, StructType schema, String name) {
    boolean has = format.equals("xml") || format.equals("json");
    return has && !contains(schema, name) ? schema.add(name, DataTypes.StringType) : schema;
  }

  private static boolean contains(StructType schema, String name) {
    for (StructField field : schema.fields()) {
      if (field.name().equals(name)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the SQL of an expression that is NULL for each record that is not corrupt; empty if
   * corrupt records do not matter. The expression reads all columns where Spark finds errors only
   * in columns that it reads: in XML, and in JSON without partial results.
   *
   * @param ofAll whether the expression reads all columns, so that a query can read it alone
   */
  static String condition(
      String format, StructType schema, Map<String, String> options, SQLConf conf, boolean ofAll) {
    String name = columnName(options, conf);
    boolean isPartial = conf.getConfString(JSON_PARTIAL_RESULTS).equals("true");
    Option<String> mode = option(options, "mode");
    boolean fails = !mode.isEmpty() && ((String) mode.get()).equalsIgnoreCase("FAILFAST");
    if (fails || !matter(format, schema, isPartial)) {
      return "";
    }
    String condition = "CASE WHEN " + quoted(name) + " IS NOT NULL THEN true";
    if (ofAll || format.equals("xml") || !isPartial) {
      StringBuilder columns = new StringBuilder();
      for (StructField field : schema.fields()) {
        if (!field.name().equals(name)) {
          columns.append(columns.length() == 0 ? "" : ", ").append(quoted(field.name()));
        }
      }
      condition += " WHEN to_json(struct(" + columns + ")) = '' THEN true";
    }
    return condition + " END";
  }

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }
}
