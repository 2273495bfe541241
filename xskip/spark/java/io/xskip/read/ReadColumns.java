package io.xskip.read;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.catalyst.NestedTypes;
import io.xskip.common.Json;
import io.xskip.shims.SparkCompat;
import java.io.StringWriter;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * What decides the values of each column beside type, options and settings, as texts by property
 * and column [PRU-RD-11].
 */
final class ReadColumns {
  private static final String CORRUPT_RECORD = "columnNameOfCorruptRecord";
  private static final String EXISTS_DEFAULT = "EXISTS_DEFAULT";
  private static final String FIELD_ID = "parquet.field.id";
  private static final String JSON_PARTIAL_RESULTS = "spark.sql.json.enablePartialResults";
  private static final String ORC_BY_POSITION = "orc.force.positional.evolution";
  private static final String ORC_LEVEL = "orc.force.positional.evolution.level";
  private static final String PARQUET_NULL_STRUCTS =
      "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing";
  private static final String PARQUET_BY_ID = "spark.sql.parquet.fieldId.read.enabled";

  private final String format;
  private final StructType schema;
  private final Map<String, String> options;
  private final boolean hasTimestampDefault;

  private volatile String knownText = null; // of the modes of reading in knownMode
  private volatile String knownMode = null;

  ReadColumns(String format, StructType schema, Map<String, String> options) {
    this.format = format;
    this.schema = schema;
    this.options = options;
    this.hasTimestampDefault = schema != null && hasTimestampDefault(schema);
  }

  private static boolean hasTimestampDefault(StructType schema) {
    for (StructField field : schema.fields()) {
      if (field.metadata().contains(EXISTS_DEFAULT) && hasTimestamps(field)) {
        return true;
      }
    }
    return false;
  }

  private static boolean hasTimestamps(StructField field) {
    return NestedTypes.contain(field.dataType(), TimestampType.class);
  }

  /** Returns whether Spark reads the text of a default in a time zone. */
  boolean dependOnZone() {
    return hasTimestampDefault;
  }

  /**
   * Returns the properties as a JSON object; {@code zone}, that of timestamps' texts, counts if
   * {@link #dependOnZone}.
   */
  String json(SQLConf conf, String zone) throws Exception {
    String avro = format.equals("avro") ? AvroFields.schemaText(options) : null;
    String mode =
        ReadSettings.isTrue(conf, "spark.sql.caseSensitive")
            + " "
            + isByPosition(conf)
            + " "
            + ReadSettings.isTrue(conf, JSON_PARTIAL_RESULTS)
            + " "
            + hasNullStructs(conf)
            + " "
            + ReadSettings.isTrue(conf, PARQUET_BY_ID)
            + " "
            + corruptRecord(conf)
            + " "
            + zone
            + " "
            + avro;
    if (!mode.equals(knownMode)) {
      knownText = text(conf, zone, avro);
      knownMode = mode;
    }
    return knownText;
  }

  private String text(SQLConf conf, String zone, String avro) throws Exception {
    SortedMap<String, SortedMap<String, String>> properties = new TreeMap<>();
    if (schema != null) {
      // The column without a name stands for all columns.
      addDefaults(properties, zone);
      addTimes(properties);
      if (format.equals("csv")) {
        addPositions(properties, corruptRecord(conf));
      } else if (format.equals("orc")) {
        addPositions(properties, null);
        if (isByPosition(conf)) {
          addNested(properties);
        }
      } else if (format.equals("json")) {
        addNames(properties, "", schema);
        if (ReadSchema.isNested(schema)) {
          put(properties, "corrupt", "", ""); // values depend on the columns that a query reads
        }
        if (!ReadSettings.isTrue(conf, JSON_PARTIAL_RESULTS)) {
          put(properties, "schema", "", schema.toDDL()); // the types of all columns decide
        }
      } else if (format.equals("parquet")) {
        if (ReadSettings.isTrue(conf, PARQUET_BY_ID)) {
          addIds(properties, "", schema);
        }
        if (hasNullStructs(conf)) {
          addStructs(properties, "", schema);
        }
      } else if (avro != null) {
        boolean isCaseSensitive = ReadSettings.isTrue(conf, "spark.sql.caseSensitive");
        properties.put("avro", AvroFields.of(avro, schema, isCaseSensitive));
      } else if (SparkCompat.readsBySchema(format)) {
        put(properties, "schema", "", schema.toDDL()); // how it finds columns is not known
      }
    }
    return write(properties);
  }

  private static String write(SortedMap<String, SortedMap<String, String>> properties)
      throws Exception {
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    for (Map.Entry<String, SortedMap<String, String>> property : properties.entrySet()) {
      json.writeFieldName((String) property.getKey());
      Json.writeStrings(json, (SortedMap<String, String>) property.getValue());
    }
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  private static void put(
      SortedMap<String, SortedMap<String, String>> properties,
      String property,
      String path,
      String value) {
    SortedMap<String, String> values = (SortedMap<String, String>) properties.get(property);
    if (values == null) {
      values = new TreeMap<>();
      properties.put(property, values);
    }
    values.put(path, value);
  }

  private void addDefaults(SortedMap<String, SortedMap<String, String>> properties, String zone) {
    for (StructField field : schema.fields()) {
      Metadata metadata = field.metadata();
      if (metadata.contains(EXISTS_DEFAULT)) {
        String value = metadata.getString(EXISTS_DEFAULT); // NULL is what a missing column has
        if (!value.trim().equalsIgnoreCase("null")) {
          String suffix = hasTimestamps(field) ? " in " + zone : ""; // the text has none
          put(properties, "default", ReadSchema.quoted(field.name()), value + suffix);
        }
      }
    }
  }

  private void addPositions(
      SortedMap<String, SortedMap<String, String>> properties, String omitted) {
    int position = 0;
    for (StructField field : schema.fields()) {
      if (!field.name().equals(omitted)) { // a column that is not in the files
        put(properties, "position", ReadSchema.quoted(field.name()), String.valueOf(position));
        position++;
      }
    }
  }

  private void addNested(SortedMap<String, SortedMap<String, String>> properties) {
    for (StructField field : schema.fields()) {
      DataType type = field.dataType();
      if (type instanceof StructType || type instanceof ArrayType || type instanceof MapType) {
        // a reader finds the fields of the column by place
        put(properties, "nested", ReadSchema.quoted(field.name()), type.sql());
      }
    }
  }

  private static void addNames(
      SortedMap<String, SortedMap<String, String>> properties, String prefix, StructType struct) {
    for (StructField field : struct.fields()) {
      String path = prefix + ReadSchema.quoted(field.name());
      if (!field.name().equals(field.name().toLowerCase(Locale.ROOT))) {
        put(properties, "name", path, field.name()); // names in files are always case-sensitive
      }
      for (StructType nested : ReadSchema.structs(field.dataType())) {
        addNames(properties, path + ".", nested);
      }
    }
  }

  private static void addIds(
      SortedMap<String, SortedMap<String, String>> properties, String prefix, StructType struct) {
    for (StructField field : struct.fields()) {
      String path = prefix + ReadSchema.quoted(field.name());
      if (field.metadata().contains(FIELD_ID)) {
        put(properties, "id", path, String.valueOf(field.metadata().getLong(FIELD_ID)));
      }
      for (StructType nested : ReadSchema.structs(field.dataType())) {
        addIds(properties, path + ".", nested);
      }
    }
  }

  private static void addStructs(
      SortedMap<String, SortedMap<String, String>> properties, String prefix, StructType struct) {
    for (StructField field : struct.fields()) {
      String path = prefix + ReadSchema.quoted(field.name());
      for (StructType nested : ReadSchema.structs(field.dataType())) {
        put(properties, "struct", path, ""); // its nulls depend on the fields that a query reads
        addStructs(properties, path + ".", nested);
      }
    }
  }

  private void addTimes(SortedMap<String, SortedMap<String, String>> properties) {
    for (StructField field : schema.fields()) {
      if (ReadSchema.hasTimes(field.dataType())) {
        put(properties, "time", ReadSchema.quoted(field.name()), "");
      }
    }
  }

  private boolean isByPosition(SQLConf conf) { // whether Spark finds the fields of structs so
    if (!format.equals("orc")) {
      return false;
    }
    boolean isForced =
        OptionDigests.mention(options, ORC_BY_POSITION)
            || ReadSettings.isTrue(conf, ORC_BY_POSITION);
    String level = ReadSettings.effective(conf, ORC_LEVEL);
    boolean isOfColumns = level.isEmpty() || level.equals("1");
    return isForced && !(isOfColumns && !OptionDigests.mention(options, ORC_LEVEL));
  }

  private boolean hasNullStructs(SQLConf conf) {
    // whether a struct is null where a file lacks all fields that a query reads, as in every Spark
    // without the setting
    return format.equals("parquet")
        && (!ReadSettings.isKnown(PARQUET_NULL_STRUCTS)
            || ReadSettings.isTrue(conf, PARQUET_NULL_STRUCTS));
  }

  private String corruptRecord(SQLConf conf) { // which is not in the files
    if (!format.equals("csv")) {
      return null;
    }
    String given = OptionDigests.value(options, CORRUPT_RECORD);
    return given == null ? conf.columnNameOfCorruptRecord() : given;
  }
}
