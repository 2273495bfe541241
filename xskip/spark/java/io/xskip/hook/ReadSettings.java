package io.xskip.jvm;

import java.util.Iterator;
import java.util.Map;
import java.util.TimeZone;
import java.util.TreeMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

/** Options and settings of a reading, as JSON. */
class XSkipReadings {
  private static final SQLConf DEFAULTS = new SQLConf();
  private static volatile java.lang.reflect.Method properties = null;
  private static final String ZONE = "user.timezone";

  /** Reader options; one that names a file stands for the content of the file. */
  static void options(StringBuilder sb, Object options) {
    TreeMap found = new TreeMap();
    if (options instanceof Map) found.putAll((Map) options);
    else if (options != null) {
      for (scala.collection.Iterator it = ((scala.collection.Iterable) options).iterator(); it.hasNext();) {
        scala.Tuple2 e = (scala.Tuple2) it.next();
        found.put(e._1(), e._2());
      }
    }
    for (Iterator it = found.entrySet().iterator(); it.hasNext();) {
      Map.Entry e = (Map.Entry) it.next();
      String name = ((String) e.getKey()).toLowerCase(java.util.Locale.ROOT);
      if (name.equals("avroschemaurl") || name.equals("rowvalidationxsdpath")) e.setValue(content(String.valueOf(e.getValue())));
    }
    XSkipEncoder.map(sb, found);
  }
  private static String content(String file) {
    try {
      Path path = new Path(file);
      java.io.InputStream in = path.getFileSystem(XSkipPlans.hadoopConf()).open(path);
      try {
        java.security.MessageDigest digest = java.security.MessageDigest.getInstance("SHA-256");
        byte[] some = new byte[8192];
        for (int n = in.read(some); n >= 0; n = in.read(some)) digest.update(some, 0, n);
        return "sha256:" + String.format("%064x", new Object[]{new java.math.BigInteger(1, digest.digest())});
      } finally { in.close(); }
    } catch (Throwable t) { return "unreadable"; }
  }

  /** The values of XSkipHub.confKeys, and of all settings with the beginnings that count which are set to something else than
      Spark's default. Readers take settings from the session of the DataFrame and from the one that runs the query: where the
      two differ, both stand here. */
  static void settings(StringBuilder sb, SQLConf asking, SQLConf own, boolean temporal) throws Exception {
    Map found = settings(asking);
    if (own != asking) {
      Map others = settings(own);
      for (Iterator it = others.entrySet().iterator(); it.hasNext();) {
        Map.Entry e = (Map.Entry) it.next();
        Object before = found.get(e.getKey());
        if (!e.getValue().equals(before)) found.put(e.getKey(), before + " and " + e.getValue());
      }
      for (Iterator it = found.entrySet().iterator(); it.hasNext();) {
        Map.Entry e = (Map.Entry) it.next();
        if (!others.containsKey(e.getKey())) e.setValue(e.getValue() + " and null");
      }
    }
    found.remove(ZONE);
    if (temporal) found.put(ZONE, zones(asking));
    XSkipEncoder.map(sb, found);
  }
  /** The default zone of the JVM, and those that executors are told to have where they are others. */
  private static String zones(SQLConf conf) {
    String own = TimeZone.getDefault().getID();
    java.util.TreeSet all = new java.util.TreeSet();
    if (conf.getConfString("spark.master", "local").startsWith("local")) return own;
    java.util.regex.Matcher told = java.util.regex.Pattern.compile("-Duser[.]timezone=(\\S+)")
        .matcher(conf.getConfString("spark.executor.extraJavaOptions", ""));
    if (told.find()) all.add(told.group(1)); else all.add(conf.getConfString("spark.executorEnv.TZ", own));
    all.remove(own);
    return all.isEmpty() ? own : own + ", executors " + all;
  }
  /** The names in Hadoop's configuration, of which it has a thousand by itself: a copy of them all would take too long. */
  private static java.util.Set hadoopNames() throws Exception {
    if (properties == null) {
      java.lang.reflect.Method found = org.apache.hadoop.conf.Configuration.class.getDeclaredMethod("getProps", new Class[0]);
      found.setAccessible(true);
      properties = found;
    }
    return ((java.util.Properties) properties.invoke(XSkipPlans.hadoopConf(), new Object[0])).keySet();
  }
  private static boolean counts(String key) {
    for (int i = 0; i < XSkipHub.confPrefixes.length; i++) if (key.startsWith(XSkipHub.confPrefixes[i])) return true;
    return false;
  }
  private static Map settings(SQLConf conf) throws Exception {
    TreeMap found = new TreeMap();
    for (scala.collection.Iterator it = conf.getAllConfs().iterator(); it.hasNext();) {
      scala.Tuple2 e = (scala.Tuple2) it.next();
      String key = (String) e._1();
      if (counts(key) && !e._2().equals(effective(DEFAULTS, key))) found.put(key, e._2());
    }
    for (Iterator it = hadoopNames().iterator(); it.hasNext();) {
      Object name = it.next();
      if (!(name instanceof String)) continue;
      String key = (String) name;
      if (counts(key) && !key.startsWith("spark.") && !found.containsKey(key)) {
        found.put(key, String.valueOf(XSkipPlans.hadoopConf().get(key)));
      }
    }
    for (int i = 0; i < XSkipHub.confKeys.length; i++) found.put(XSkipHub.confKeys[i], effective(conf, XSkipHub.confKeys[i]));
    return found;
  }
  /** A setting of a session, else of Hadoop's configuration where it has one of that name, else Spark's default, else nothing. */
  static String effective(SQLConf conf, String key) {
    String value = conf.getConfString(key, null);
    if (value == null && SQLConf$.MODULE$.getConfigEntry(key) != null) value = conf.getConfString(key);   // the default
    if (value == null && !key.startsWith("spark.") && conf != DEFAULTS) value = XSkipPlans.hadoopConf().get(key);
    return value == null ? "" : value;
  }
}
