package io.xskip.collect;

import io.xskip.read.ReadSchema;
import io.xskip.shims.Scala;
import java.util.Arrays;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * Corrupt records of JSON and XML, in which the values of a column depend on the columns that a
 * query reads.
 */
final class CorruptRecords {
  private static final String JSON_PARTIAL_RESULTS = "spark.sql.json.enablePartialResults";

  private CorruptRecords() {}

  static String columnName(Map<String, String> options, SQLConf conf) {
    Option<String> given = option(options, "columnNameOfCorruptRecord");
    return given.isEmpty() ? conf.columnNameOfCorruptRecord() : (String) given.get();
  }

  private static Option<String> option(Map<String, String> options, String name) {
    for (String given : Scala.list(options.keys())) {
      if (name.equalsIgnoreCase(given)) {
        return options.get(given);
      }
    }
    return Option.<String>empty();
  }

  // Spark keeps some values from before or after the error. It skips the rest of a JSON record
  // after an error, unless the error is inside of a struct, an array or a map. Without partial
  // results, it passes over records beside one with a value of another type.
  private static boolean matter(String format, StructType schema, boolean isPartial) {
    return format.equals("xml")
        || (format.equals("json") && (!isPartial || ReadSchema.isNested(schema)));
  }

  /** Returns a schema with the column of corrupt records, if its format has one. */
  static StructType readable(String format, StructType schema, String name) {
    boolean has = format.equals("xml") || format.equals("json");
    return has && !Arrays.asList(schema.fieldNames()).contains(name)
        ? schema.add(name, DataTypes.StringType)
        : schema;
  }

  /**
   * Returns the SQL of an expression that is NULL for all but corrupt records, empty if these do
   * not matter.
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
    // In XML, and in JSON without partial results, Spark finds errors only in columns that it
    // reads. A query that reads the expression alone also reads all columns.
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
