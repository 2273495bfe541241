package io.xskip.read;

import io.xskip.common.SkippingSettings;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.lang.reflect.Method;
import java.util.BitSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * The settings that decide values, which {@code xskip.metadata.reader_settings} in Python names.
 */
public final class ReadSettings {
  private static final SQLConf DEFAULTS = new SQLConf();

  private static final String ZONE = "user.timezone";
  private static final String SESSION_ZONE = "spark.sql.session.timeZone";
  private static final Pattern EXECUTOR_ZONE = Pattern.compile("-Duser[.]timezone=(\\S+)");

  private static volatile String[] keys = {};
  private static volatile String[] prefixes = {};

  // the first characters of the prefixes, which rule out most names of Hadoop's settings
  private static volatile BitSet firstCharacters = new BitSet();

  private static volatile Method hadoopProperties = null;

  private ReadSettings() {}

  /**
   * Sets the names of settings that always count, and the beginnings of names of settings that
   * count unless they are Spark's default.
   */
  public static void setKeys(String[] keys, String[] prefixes) {
    BitSet characters = new BitSet();
    for (String prefix : prefixes) {
      characters.set(prefix.charAt(0));
    }
    firstCharacters = characters; // before the prefixes: a query in between must not miss a setting
    ReadSettings.prefixes = prefixes;
    ReadSettings.keys = keys;
  }

  /**
   * Returns the settings by name, those of the session that runs the query and of the DataFrame's
   * as one text if they differ.
   */
  static SortedMap<String, String> values(
      SQLConf activeConf, SQLConf relationConf, boolean hasTimes) throws Exception {
    SortedMap<String, String> values = valuesOf(activeConf);
    if (relationConf != activeConf) {
      addOther(values, valuesOf(relationConf));
    }
    values.remove(ZONE);
    if (hasTimes) { // only dates and times in files depend on the time zone
      values.put(ZONE, zones(activeConf));
    }
    return values;
  }

  /**
   * Adds the settings of a thread in which Spark creates readers, if it is no thread of the
   * session, as below {@code df.rdd}.
   */
  static void addThread(SortedMap<String, String> values, SQLConf threadConf) throws Exception {
    SortedMap<String, String> others = valuesOf(threadConf);
    for (String key : new String[] {ZONE, SESSION_ZONE}) { // readers take it from the session
      others.remove(key);
      if (values.containsKey(key)) {
        others.put(key, (String) values.get(key));
      }
    }
    addOther(values, others);
  }

  private static void addOther(Map<String, String> values, Map<String, String> others) {
    for (Map.Entry<String, String> entry : others.entrySet()) {
      String key = (String) entry.getKey();
      String value = (String) values.get(key);
      if (!entry.getValue().equals(value)) {
        values.put(key, value + " and " + entry.getValue());
      }
    }
    for (Map.Entry<String, String> entry : values.entrySet()) {
      if (!others.containsKey(entry.getKey())) {
        entry.setValue(entry.getValue() + " and null");
      }
    }
  }

  private static SortedMap<String, String> valuesOf(SQLConf conf) throws Exception {
    SortedMap<String, String> values = new TreeMap<>();
    for (Map.Entry<Object, Object> entry : Scala.map(conf.getAllConfs()).entrySet()) {
      String key = (String) entry.getKey();
      if (hasPrefix(key) && !entry.getValue().equals(effective(DEFAULTS, key))) {
        values.put(key, (String) entry.getValue());
      }
    }
    for (Object name : hadoopNames()) {
      if (!(name instanceof String)) {
        continue;
      }
      String key = (String) name;
      if (hasPrefix(key) && !key.startsWith("spark.") && !values.containsKey(key)) {
        values.put(key, String.valueOf(SparkCompat.hadoopConf().get(key)));
      }
    }
    for (String key : keys) {
      values.put(key, effective(conf, key));
    }
    return values;
  }

  private static boolean hasPrefix(String key) {
    return !key.isEmpty()
        && firstCharacters.get(key.charAt(0))
        && SkippingSettings.startsWithAny(key, prefixes);
  }

  private static Set<Object> hadoopNames() throws Exception {
    // There are a thousand names, and public methods would copy all entries.
    if (hadoopProperties == null) {
      Method method = Configuration.class.getDeclaredMethod("getProps");
      method.setAccessible(true);
      hadoopProperties = method;
    }
    return ((Properties) hadoopProperties.invoke(SparkCompat.hadoopConf())).keySet();
  }

  private static String zones(SQLConf conf) { // of the driver, and of the executors if it differs
    String driverZone = TimeZone.getDefault().getID();
    if (conf.getConfString("spark.master", "local").startsWith("local")) {
      return driverZone;
    }
    SortedSet<String> zones = new TreeSet<>();
    Matcher option =
        EXECUTOR_ZONE.matcher(conf.getConfString("spark.executor.extraJavaOptions", ""));
    if (option.find()) {
      zones.add(option.group(1));
    } else {
      zones.add(conf.getConfString("spark.executorEnv.TZ", driverZone));
    }
    zones.remove(driverZone);
    return zones.isEmpty() ? driverZone : driverZone + ", executors " + zones;
  }

  static boolean isKnown(String key) { // by Spark
    return SQLConf$.MODULE$.getConfigEntry(key) != null;
  }

  static boolean isTrue(SQLConf conf, String key) {
    return "true".equalsIgnoreCase(effective(conf, key));
  }

  /**
   * Returns a setting of a session, else of Hadoop if Spark has none of that name, else Spark's
   * default, else an empty text.
   */
  static String effective(SQLConf conf, String key) {
    String value = conf.getConfString(key, null);
    if (value == null && isKnown(key)) {
      value = conf.getConfString(key); // the default
    }
    if (value == null && !key.startsWith("spark.") && conf != DEFAULTS) {
      value = SparkCompat.hadoopConf().get(key);
    }
    return value == null ? "" : value;
  }
}
