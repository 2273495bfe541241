package io.xskip.hook;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** How a relation reads its files: the format, options, settings and schema that decide values. */
public final class ReadProfile {
  private static final String ORC_BY_POSITION = "orc.force.positional.evolution";
  private static final String PARQUET_BY_ID = "spark.sql.parquet.fieldId.read.enabled";

  /** The formats whose times have no time zone and no calendar but those of Spark. */
  private static final List<String> WITHOUT_ZONES = Arrays.asList("quixlake", "questdb");

  private final String format;
  private final Object options;
  private final StructType schema;
  private final StructType partitionSchema;
  private final Object session;
  private final boolean hasTimes;

  /**
   * Creates a profile.
   *
   * @param options the reader options, as a Java or Scala map of strings, or null
   * @param schema the schema of the files, or null
   * @param session the session of the DataFrame, or null
   */
  ReadProfile(
      String format,
      Object options,
      StructType schema,
      StructType partitionSchema,
      Object session) {
    this.format = format;
    this.options = options;
    this.schema = schema;
    this.partitionSchema = partitionSchema;
    this.session = session;
    this.hasTimes =
        schema != null
            && !WITHOUT_ZONES.contains(format)
            && ReadSchema.hasTimes(schema, partitionSchema);
  }

  /** Returns the profile of a relation of the first data source API. */
  public static ReadProfile of(HadoopFsRelation relation) {
    return new ReadProfile(
        SparkCompat.format(relation),
        relation.options(),
        relation.dataSchema(),
        relation.partitionSchema(),
        relation.sparkSession());
  }

  String format() {
    return format;
  }

  StructType partitionSchema() {
    return partitionSchema;
  }

  /** Returns the fields of {@link #writeFields} as a JSON object. */
  public String json() throws Exception {
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    writeFields(json);
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  /**
   * Writes the profile into an object, with the settings of this moment. Spark plans a query before
   * it reads, and a setting can change in between.
   */
  void writeFields(JsonGenerator json) throws Exception {
    SQLConf activeConf = SQLConf.get();
    SQLConf relationConf = session == null ? activeConf : SparkCompat.state(session).conf();
    json.writeStringField("format", format);
    json.writeFieldName("options");
    Json.writeStrings(json, ReadOptions.of(options));
    json.writeFieldName("conf");
    Json.writeStrings(json, ReadSettings.values(activeConf, relationConf, hasTimes));
    json.writeStringField("evaluated", SkippingSettings.evaluated(activeConf));
    json.writeStringField("schema", schema == null ? "" : schemaText(relationConf));
    json.writeObjectFieldStart("partitions");
    for (StructField field : partitionSchema.fields()) {
      json.writeStringField(field.name(), field.dataType().catalogString());
    }
    json.writeEndObject();
  }

  /**
   * Returns the part of the schema that decides values, beside the types:
   *
   * <ul>
   *   <li>the whole schema, if columns are found by position or types decide how text is parsed
   *   <li>the default values of columns that a file lacks
   *   <li>the schema with the ids of columns, if there are ids and columns are found by id
   * </ul>
   */
  private String schemaText(SQLConf conf) {
    if (format.equals("orc") && !findsOrcColumnsByPosition(conf)) {
      return ReadSchema.withoutNestedFields(schema).toDDL();
    }
    if (SparkCompat.readsBySchema(format)) {
      return schema.toDDL();
    }
    String text = ReadSchema.defaultValues(schema);
    if (format.equals("parquet") && ReadSettings.isTrue(conf, PARQUET_BY_ID)) {
      String json = schema.json();
      if (json.contains("\"parquet.field.id\"")) {
        text += json;
      }
    }
    return text;
  }

  /** Returns whether Spark finds the columns of ORC files, and fields of structs, by position. */
  private boolean findsOrcColumnsByPosition(SQLConf conf) {
    return ReadOptions.mention(options, ORC_BY_POSITION)
        || ReadSettings.isTrue(conf, ORC_BY_POSITION);
  }
}
