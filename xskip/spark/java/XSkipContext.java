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
  final String[] confValues;      // of XSkipHub.confKeys
  XSkipSettings(SQLConf conf) {
    String b = conf.getConfString("spark.xskip.metadata.location", "");
    base = b.length() == 0 ? null : XSkipHub.location(b);
    rememberMs = 1000L * Long.parseLong(conf.getConfString("spark.xskip.discovery.seconds", "60"));
    strict = "true".equalsIgnoreCase(conf.getConfString("spark.xskip.strict", "false"));
    String[] keys = XSkipHub.confKeys;
    confValues = new String[keys.length];
    for (int i = 0; i < keys.length; i++) confValues[i] = effective(conf, keys[i]);
  }
  private static String effective(SQLConf conf, String key) {
    try { return conf.getConfString(key); } catch (Throwable t) { return ""; }   // not set, and no default
  }
}

/** How one relation of a query reads its files: goes to Python with each request. */
class XSkipContext {
  final XSkipSettings settings; final List roots; final String format; private final String reading;
  String mixed = "";              // conditions that the scan itself is not told of, encoded
  XSkipContext(XSkipSettings settings, List roots, String format, Object options, StructType schema) {
    this.settings = settings; this.roots = roots; this.format = format;
    StringBuilder sb = new StringBuilder(256);
    sb.append("\"format\":"); XSkipEncoder.str(sb, format);
    sb.append(",\"options\":"); XSkipEncoder.map(sb, options);
    sb.append(",\"conf\":{");
    String[] keys = XSkipHub.confKeys;
    for (int i = 0; i < keys.length; i++) {
      if (i > 0) sb.append(',');
      XSkipEncoder.str(sb, keys[i]); sb.append(':'); XSkipEncoder.str(sb, settings.confValues[i]);
    }
    sb.append("},\"schema\":"); XSkipEncoder.str(sb, XSkipPlans.readsBySchema(format) && schema != null ? schema.toDDL() : "");
    this.reading = sb.toString();
  }
  String reading() { return reading; }
}
