package io.xskip.jvm;

import java.util.List;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A session's settings at the moment a query is optimized. */
class XSkipSettings {
  final String base;              // spark.xskip.metadata.location, or null
  final long rememberMs;          // for how long a directory without an index is not looked at again
  final boolean strict;
  boolean evaluate;               // count what would be skipped, and read nothing of what is indexed
  final String jobObjects;        // spark.xskip.pruning.jobObjects, as Python reads it
  private final SQLConf conf;
  private static final String[] EVALUATED = {"spark.sql.ansi.", "spark.sql.legacy.", "spark.sql.icu.", "spark.sql.session.",
      "spark.sql.timestampType", "spark.sql.collation", "spark.sql.mapKeyDedupPolicy", "spark.sql.json", "spark.sql.csv"};
  XSkipSettings(SQLConf conf) {
    String b = value(conf, "spark.xskip.metadata.location", "");
    base = b.length() == 0 ? null : XSkipHub.location(b);
    rememberMs = 1000L * Long.parseLong(value(conf, "spark.xskip.discovery.seconds", "60"));
    strict = "true".equalsIgnoreCase(value(conf, "spark.xskip.strict", "false"));
    evaluate = "true".equalsIgnoreCase(value(conf, "spark.xskip.evaluate", "false"));
    jobObjects = value(conf, "spark.xskip.pruning.jobObjects", "");
    this.conf = conf;
  }
  /** What the values of expressions depend on beside their arguments. */
  String evaluated() {
    java.util.TreeMap found = new java.util.TreeMap();
    for (scala.collection.Iterator it = conf.getAllConfs().iterator(); it.hasNext();) {
      scala.Tuple2 e = (scala.Tuple2) it.next();
      for (int i = 0; i < EVALUATED.length; i++) if (((String) e._1()).startsWith(EVALUATED[i])) found.put(e._1(), e._2());
    }
    return "Spark " + org.apache.spark.package$.MODULE$.SPARK_VERSION() + " " + found;
  }
  /** The session's value, else the process's, else the default. */
  static String value(SQLConf conf, String key, String otherwise) {
    String own = conf.getConfString(key, ""), mine = (String) XSkipHub.processWide.get(key);
    return own.length() > 0 ? own : mine == null ? otherwise : mine;
  }
}

/** How one relation of a query reads its files: goes to Python with each request. */
class XSkipContext {
  final XSkipSettings settings; final List places; final String format; final StructType partitions;
  private final Object options, session; private final StructType schema; private final boolean temporal;
  private static final String POSITIONS = "orc.force.positional.evolution";
  final XSkipTerms terms = new XSkipTerms();   // of those conditions
  String mixed = "";              // conditions that the scan itself is not told of, encoded
  XSkipContext(XSkipSettings settings, List places, String format, Object options, StructType schema, StructType partitions, Object session) {
    this.settings = settings; this.places = places; this.format = format; this.partitions = partitions;
    this.options = options; this.schema = schema; this.session = session;
    this.temporal = schema != null && isTemporal(schema, partitions);
  }
  /** How the files are read, as JSON, with the settings of this moment: Spark makes a plan before it reads, and a setting can
      change in between. */
  String reading() throws Exception {
    SQLConf asking = SQLConf.get(), own = session == null ? asking : XSkipPlans.state(session).conf();
    StringBuilder sb = new StringBuilder(512);
    sb.append("\"format\":"); XSkipEncoder.str(sb, format);
    sb.append(",\"options\":"); XSkipReadings.options(sb, options);
    sb.append(",\"conf\":"); XSkipReadings.settings(sb, asking, own, temporal);
    sb.append(",\"evaluated\":"); XSkipEncoder.str(sb, new XSkipSettings(asking).evaluated());
    sb.append(",\"schema\":"); XSkipEncoder.str(sb, schema == null ? "" : meaning(own));
    sb.append(",\"partitions\":{");
    for (int i = 0; i < partitions.length(); i++) {
      if (i > 0) sb.append(',');
      XSkipEncoder.str(sb, partitions.apply(i).name()); sb.append(':');
      XSkipEncoder.str(sb, partitions.apply(i).dataType().catalogString());
    }
    return sb.append('}').toString();
  }
  /** What of a schema decides values, beside the types: all of it where columns go by position or types parse text,
      the columns' ids where there are any and they go by id, and the values that stand for a column that a file lacks. */
  private String meaning(SQLConf conf) {
    if (format.equals("orc") && !byPosition(conf)) return withoutNestedFields(schema).toDDL();
    if (XSkipPlans.readsBySchema(format)) return schema.toDDL();
    StringBuilder sb = new StringBuilder();
    org.apache.spark.sql.types.StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      org.apache.spark.sql.types.Metadata m = fields[i].metadata();
      if (m.contains("EXISTS_DEFAULT")) sb.append(fields[i].name()).append(" default ").append(m.getString("EXISTS_DEFAULT")).append(';');
    }
    if (format.equals("parquet") && "true".equalsIgnoreCase(XSkipReadings.effective(conf, "spark.sql.parquet.fieldId.read.enabled"))) {
      String json = schema.json();
      if (json.contains("\"parquet.field.id\"")) sb.append(json);
    }
    return sb.toString();
  }
  /** Are columns of ORC files found by their places, those of structs included, whatever the names are. */
  private boolean byPosition(SQLConf conf) {
    StringBuilder given = new StringBuilder();
    XSkipReadings.options(given, options);
    return given.toString().toLowerCase(java.util.Locale.ROOT).contains(POSITIONS)
        || "true".equalsIgnoreCase(XSkipReadings.effective(conf, POSITIONS));
  }
  /** Returns the schema with structs that have no fields: Spark takes from the schema of an ORC scan those that a query
      does not read. */
  private static StructType withoutNestedFields(StructType schema) {
    StructField[] fields = new StructField[schema.length()];
    for (int i = 0; i < fields.length; i++) {
      StructField field = schema.fields()[i];
      fields[i] = new StructField(field.name(), withoutFields(field.dataType()), field.nullable(), field.metadata());
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
      return new MapType(withoutFields(map.keyType()), withoutFields(map.valueType()), map.valueContainsNull());
    }
    return type;
  }
  /** Are there dates or times in the files: partition columns, which a schema can name too, are not. */
  private static boolean isTemporal(StructType schema, StructType partitions) {
    java.util.TreeSet names = new java.util.TreeSet(String.CASE_INSENSITIVE_ORDER);
    names.addAll(java.util.Arrays.asList(partitions.fieldNames()));
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) if (!names.contains(fields[i].name()) && isTemporal(fields[i].dataType())) return true;
    return false;
  }
  private static boolean isTemporal(DataType type) {
    if (type instanceof StructType) return isTemporal((StructType) type, new StructType());
    if (type instanceof ArrayType) return isTemporal(((ArrayType) type).elementType());
    if (type instanceof MapType) return isTemporal(((MapType) type).keyType()) || isTemporal(((MapType) type).valueType());
    return type.typeName().startsWith("timestamp") || type.typeName().equals("date");
  }
}
