package io.xskip.jvm;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/** A session's settings at the moment a query is optimized. */
class XSkipSettings {
  final String base;              // spark.xskip.metadata.location, or null
  final long rememberMs;          // for how long a directory without an index is not looked at again
  final boolean strict;
  boolean evaluate;               // count what would be skipped, and read nothing of what is indexed
  final String jobObjects;        // spark.xskip.pruning.jobObjects, as Python reads it
  private final SQLConf conf;
  private String[] confValues = null;
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
  /** The values of XSkipHub.confKeys. */
  String[] confValues() {
    if (confValues != null) return confValues;
    confValues = new String[XSkipHub.confKeys.length];
    for (int i = 0; i < confValues.length; i++) confValues[i] = effective(conf, XSkipHub.confKeys[i]);
    return confValues;
  }
  /** What the values of expressions depend on beside their arguments. */
  String evaluated() {
    java.util.TreeMap found = new java.util.TreeMap();
    for (scala.collection.Iterator it = conf.getAllConfs().iterator(); it.hasNext();) {
      scala.Tuple2 e = (scala.Tuple2) it.next();
      for (int i = 0; i < EVALUATED.length; i++) if (((String) e._1()).startsWith(EVALUATED[i])) found.put(e._1(), e._2());
    }
    return "Spark " + org.apache.spark.SparkContext.getOrCreate().version() + " " + found;
  }
  /** The session's value, else the process's, else the default. */
  static String value(SQLConf conf, String key, String otherwise) {
    String own = conf.getConfString(key, ""), mine = (String) XSkipHub.processWide.get(key);
    return own.length() > 0 ? own : mine == null ? otherwise : mine;
  }
  private static String effective(SQLConf conf, String key) {
    String value;
    try { value = conf.getConfString(key); } catch (Throwable t) { value = null; }   // not set, and no default
    return value == null ? "" : value;
  }
}

/** How one relation of a query reads its files: goes to Python with each request. */
class XSkipContext {
  final XSkipSettings settings; final List places; final String format; final StructType partitions; private final String reading;
  final XSkipTerms terms = new XSkipTerms();   // of those conditions
  String mixed = "";              // conditions that the scan itself is not told of, encoded
  XSkipContext(XSkipSettings settings, List places, String format, Object options, StructType schema, StructType partitions) {
    this.settings = settings; this.places = places; this.format = format; this.partitions = partitions;
    StringBuilder sb = new StringBuilder(256);
    sb.append("\"format\":"); XSkipEncoder.str(sb, format);
    sb.append(",\"options\":"); XSkipEncoder.map(sb, options);
    sb.append(",\"conf\":{");
    String[] keys = XSkipHub.confKeys;
    for (int i = 0; i < keys.length; i++) {
      if (i > 0) sb.append(',');
      XSkipEncoder.str(sb, keys[i]); sb.append(':'); XSkipEncoder.str(sb, settings.confValues()[i]);
    }
    sb.append("},\"evaluated\":"); XSkipEncoder.str(sb, settings.evaluated());
    sb.append(",\"schema\":"); XSkipEncoder.str(sb, schema == null ? "" : meaning(format, schema));
    sb.append(",\"partitions\":{");
    for (int i = 0; i < partitions.length(); i++) {
      if (i > 0) sb.append(',');
      XSkipEncoder.str(sb, partitions.apply(i).name()); sb.append(':');
      XSkipEncoder.str(sb, partitions.apply(i).dataType().catalogString());
    }
    sb.append('}');
    this.reading = sb.toString();
  }
  /** What of a schema decides values, beside the types: all of it where columns go by position or types parse text,
      the columns' ids where they go by id, and the values that stand for a column that a file lacks. */
  private String meaning(String format, StructType schema) {
    if (XSkipPlans.readsBySchema(format)) return schema.toDDL();
    StringBuilder sb = new StringBuilder();
    org.apache.spark.sql.types.StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      org.apache.spark.sql.types.Metadata m = fields[i].metadata();
      if (m.contains("EXISTS_DEFAULT")) sb.append(fields[i].name()).append(" default ").append(m.getString("EXISTS_DEFAULT")).append(';');
    }
    String[] keys = XSkipHub.confKeys;
    for (int i = 0; i < keys.length; i++) {
      if (keys[i].equals("spark.sql.parquet.fieldId.read.enabled") && format.equals("parquet")
          && "true".equalsIgnoreCase(settings.confValues()[i])) sb.append(schema.json());
    }
    return sb.toString();
  }
  String reading() { return reading; }
}
