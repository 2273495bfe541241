package io.xskip.hook;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.common.Json;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import io.xskip.location.IndexLocation;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** How one relation of a query reads its files: goes to Python with each request. */
public class ScanContext {
  public final SkippingSettings settings;
  final List places;
  final String format;
  final StructType partitions;
  private final Object options, session;
  private final StructType schema;
  private final boolean temporal;
  private static final String POSITIONS = "orc.force.positional.evolution";
  final ExpressionEvaluator terms = new ExpressionEvaluator(); // of those conditions
  public String mixed = ""; // conditions that the scan itself is not told of, encoded

  public ScanContext(
      SkippingSettings settings,
      List places,
      String format,
      Object options,
      StructType schema,
      StructType partitions,
      Object session) {
    this.settings = settings;
    this.places = places;
    this.format = format;
    this.partitions = partitions;
    this.options = options;
    this.schema = schema;
    this.session = session;
    this.temporal = schema != null && isTemporal(schema, partitions);
  }

  /**
   * How the files are read, as JSON, with the settings of this moment: Spark makes a plan before it
   * reads, and a setting can change in between.
   */
  public String reading() throws Exception {
    SQLConf asking = SQLConf.get(),
        own = session == null ? asking : SparkCompat.state(session).conf();
    StringBuilder sb = new StringBuilder(512);
    sb.append("\"format\":");
    Json.string(sb, format);
    sb.append(",\"options\":");
    ReadSettings.options(sb, options);
    sb.append(",\"conf\":");
    ReadSettings.settings(sb, asking, own, temporal);
    sb.append(",\"evaluated\":");
    Json.string(sb, new SkippingSettings(asking).evaluated());
    sb.append(",\"schema\":");
    Json.string(sb, schema == null ? "" : meaning(own));
    sb.append(",\"partitions\":{");
    for (int i = 0; i < partitions.length(); i++) {
      if (i > 0) sb.append(',');
      Json.string(sb, partitions.apply(i).name());
      sb.append(':');
      Json.string(sb, partitions.apply(i).dataType().catalogString());
    }
    return sb.append('}').toString();
  }

  /**
   * What of a schema decides values, beside the types: all of it where columns go by position or
   * types parse text, the columns' ids where there are any and they go by id, and the values that
   * stand for a column that a file lacks.
   */
  private String meaning(SQLConf conf) {
    if (format.equals("orc") && !byPosition(conf)) return withoutNestedFields(schema).toDDL();
    if (SparkCompat.readsBySchema(format)) return schema.toDDL();
    StringBuilder sb = new StringBuilder();
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      Metadata m = fields[i].metadata();
      if (m.contains("EXISTS_DEFAULT"))
        sb.append(fields[i].name())
            .append(" default ")
            .append(m.getString("EXISTS_DEFAULT"))
            .append(';');
    }
    if (format.equals("parquet")
        && "true"
            .equalsIgnoreCase(
                ReadSettings.effective(conf, "spark.sql.parquet.fieldId.read.enabled"))) {
      String json = schema.json();
      if (json.contains("\"parquet.field.id\"")) sb.append(json);
    }
    return sb.toString();
  }

  /**
   * Are columns of ORC files found by their places, those of structs included, whatever the names
   * are.
   */
  private boolean byPosition(SQLConf conf) {
    StringBuilder given = new StringBuilder();
    ReadSettings.options(given, options);
    return given.toString().toLowerCase(Locale.ROOT).contains(POSITIONS)
        || "true".equalsIgnoreCase(ReadSettings.effective(conf, POSITIONS));
  }

  /**
   * Returns the schema with structs that have no fields: Spark takes from the schema of an ORC scan
   * those that a query does not read.
   */
  private static StructType withoutNestedFields(StructType schema) {
    StructField[] fields = new StructField[schema.length()];
    for (int i = 0; i < fields.length; i++) {
      StructField field = schema.fields()[i];
      fields[i] =
          new StructField(
              field.name(), withoutFields(field.dataType()), field.nullable(), field.metadata());
    }
    return new StructType(fields);
  }

  private static DataType withoutFields(DataType type) {
    if (type instanceof StructType) return new StructType();
    if (type instanceof ArrayType) {
      ArrayType array = (ArrayType) type;
      return new ArrayType(withoutFields(array.elementType()), array.containsNull());
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      return new MapType(
          withoutFields(map.keyType()), withoutFields(map.valueType()), map.valueContainsNull());
    }
    return type;
  }

  /**
   * Are there dates or times in the files: partition columns, which a schema can name too, are not.
   */
  private static boolean isTemporal(StructType schema, StructType partitions) {
    TreeSet names = new TreeSet(String.CASE_INSENSITIVE_ORDER);
    names.addAll(Arrays.asList(partitions.fieldNames()));
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++)
      if (!names.contains(fields[i].name()) && isTemporal(fields[i].dataType())) return true;
    return false;
  }

  private static boolean isTemporal(DataType type) {
    if (type instanceof StructType) return isTemporal((StructType) type, new StructType());
    if (type instanceof ArrayType) return isTemporal(((ArrayType) type).elementType());
    if (type instanceof MapType)
      return isTemporal(((MapType) type).keyType()) || isTemporal(((MapType) type).valueType());
    return type.typeName().startsWith("timestamp") || type.typeName().equals("date");
  }

  public static String request(
      long id, IndexLocation place, ScanContext c, Seq df, ExpressionEvaluator terms)
      throws Exception {
    StringBuilder sb = new StringBuilder(512);
    sb.append("{\"id\":")
        .append(id)
        .append(",\"strict\":")
        .append(c.settings.strict)
        .append(",\"jobObjects\":");
    Json.string(sb, c.settings.jobObjects);
    sb.append(",\"place\":");
    place.json(sb);
    sb.append(',').append(c.reading()).append(",\"df\":");
    ExpressionEncoder.list(sb, df, terms);
    if (c.mixed.length() > 0) {
      sb.setLength(sb.length() - 1);
      sb.append(df.isEmpty() ? "" : ",").append(c.mixed).append(']');
    }
    return sb.append('}').toString();
  }
}
