package io.xskip.read;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.SkippingSettings;
import io.xskip.shims.SparkCompat;
import java.io.StringWriter;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** How a relation reads its files: the format, options, settings and schema that decide values. */
public final class ReadProfile {
  private final String format;
  private final SortedMap<String, String> options;
  private final ReadColumns columns;
  private final StructType partitionSchema;
  private final Object session;
  private final boolean hasTimes;

  /**
   * Creates a profile; {@code options} is a Java or Scala map or null, and the schema of the files
   * and the DataFrame's session can be null.
   */
  public ReadProfile(
      String format,
      Object options,
      StructType schema,
      StructType partitionSchema,
      Object session) {
    this(format, options, schema, partitionSchema, session, true);
  }

  private ReadProfile(
      String format,
      Object options,
      StructType schema,
      StructType partitionSchema,
      Object session,
      boolean hasZones) {
    this.format = format;
    this.options = OptionDigests.of(options);
    this.columns = new ReadColumns(format, schema, this.options);
    this.partitionSchema = partitionSchema;
    this.session = session;
    this.hasTimes = hasZones && schema != null && ReadSchema.hasTimes(schema, partitionSchema);
  }

  /** Returns the profile of a relation of the first data source API. */
  public static ReadProfile of(HadoopFsRelation relation) {
    return new ReadProfile(
        SparkCompat.format(relation),
        relation.options(),
        relation.dataSchema(),
        relation.partitionSchema(),
        relation.sparkSession(),
        !(relation.fileFormat() instanceof HookFormat));
  }

  public String format() {
    return format;
  }

  /**
   * Returns whether an option or a setting can make the query find fewer records than the files
   * have: the options and settings whose effect is "records" in Python's tables.
   */
  public boolean passesOverRecords(SQLConf conf) {
    if (conf.ignoreCorruptFiles()
        || conf.ignoreMissingFiles()
        || Boolean.parseBoolean(OptionDigests.value(options, "ignoreCorruptFiles"))
        || Boolean.parseBoolean(OptionDigests.value(options, "ignoreMissingFiles"))) {
      return true;
    }
    if (format.equals("avro")) {
      String ignoresExtension = OptionDigests.value(options, "ignoreExtension");
      return ignoresExtension == null
          ? isTrue(conf, "avro.mapred.ignore.inputs.without.extension")
          : !Boolean.parseBoolean(ignoresExtension);
    }
    if (format.equals("parquet")) {
      String threshold = value(conf, "parquet.read.bad.record.threshold");
      return !threshold.isEmpty() && !threshold.equals("0");
    }
    return isTrue(conf, "orc.skip.corrupt.data");
  }

  private boolean isTrue(SQLConf conf, String key) {
    return Boolean.parseBoolean(value(conf, key));
  }

  /** Returns an option, or a setting of the session or of Hadoop, or an empty text. */
  private String value(SQLConf conf, String key) {
    String option = OptionDigests.value(options, key);
    return option == null ? ReadSettings.effective(conf, key) : option;
  }

  public StructType partitionSchema() {
    return partitionSchema;
  }

  /**
   * Returns the fields of {@link #writeFields} as a JSON object, for a session, whatever the
   * thread's is.
   */
  public String json(SQLConf conf) throws Exception {
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    writeFields(json, conf, conf);
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  /**
   * Writes the profile, with the settings of this moment: of the session that runs the query, and
   * of the thread that creates the readers.
   */
  public void writeFields(JsonGenerator json, SQLConf activeConf, SQLConf threadConf)
      throws Exception {
    // Spark plans a query before it reads, and a setting can change in between.
    SQLConf relationConf = session == null ? activeConf : SparkCompat.conf(session);
    json.writeStringField("format", format);
    json.writeFieldName("options");
    Json.writeStrings(json, OptionDigests.deciding(options));
    json.writeFieldName("conf");
    SortedMap<String, String> conf = ReadSettings.values(activeConf, relationConf, hasTimes);
    if (threadConf != activeConf && threadConf != relationConf) {
      ReadSettings.addThread(conf, threadConf);
    }
    Json.writeStrings(json, conf);
    json.writeStringField("evaluated", SkippingSettings.evaluated(activeConf));
    String zone =
        columns.dependOnZone() ? zones(new SQLConf[] {activeConf, relationConf, threadConf}) : "";
    json.writeStringField("columns", columns.json(relationConf, zone));
    json.writeObjectFieldStart("partitions");
    for (StructField field : partitionSchema.fields()) {
      json.writeStringField(field.name(), field.dataType().catalogString());
    }
    json.writeEndObject();
  }

  private static String zones(SQLConf[] confs) {
    SortedSet<String> zones = new TreeSet<>();
    for (SQLConf conf : confs) {
      zones.add(conf.sessionLocalTimeZone());
    }
    return String.join(" and ", zones);
  }
}
