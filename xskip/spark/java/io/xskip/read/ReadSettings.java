package io.xskip.read;

import io.xskip.common.SparkCompat;
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
import scala.Tuple2;

/**
 * The settings that decide which values a reader gets from a file. {@code
 * xskip.metadata.reader_settings} in Python names them.
 */
public final class ReadSettings {
  /** Settings with Spark's default values. */
  private static final SQLConf DEFAULTS = new SQLConf();

  private static final String ZONE = "user.timezone";
  private static final String SESSION_ZONE = "spark.sql.session.timeZone";
  private static final Pattern EXECUTOR_ZONE = Pattern.compile("-Duser[.]timezone=(\\S+)");

  private static volatile String[] keys = {};
  private static volatile String[] prefixes = {};

  /** The first characters of the prefixes, which rule out most names of Hadoop's settings. */
  private static volatile BitSet firstCharacters = new BitSet();

  private static volatile Method hadoopProperties = null;

  private ReadSettings() {}

  /**
   * Sets the names of the settings that decide values.
   *
   * @param keys settings whose effective values are always included
   * @param prefixes beginnings of the names of settings that are included if they are set to
   *     something else than Spark's default
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
   * Returns the values of the settings by name.
   *
   * <p>Readers take settings from the session of the DataFrame and from the session that runs the
   * query. If the two differ in a setting, its value contains both.
   *
   * @param activeConf the settings of the session that runs the query
   * @param relationConf the settings of the session of the DataFrame
   * @param hasTimes whether the files contain dates or times; only these depend on the time zone
   */
  static SortedMap<String, String> values(
      SQLConf activeConf, SQLConf relationConf, boolean hasTimes) throws Exception {
    SortedMap<String, String> values = valuesOf(activeConf);
    if (relationConf != activeConf) {
      addOther(values, valuesOf(relationConf));
    }
    values.remove(ZONE);
    if (hasTimes) {
      values.put(ZONE, zones(activeConf));
    }
    return values;
  }

  /**
   * Adds the settings of a thread in which Spark creates readers, if it is not a thread of the
   * session: {@code df.rdd} does so in the thread of the caller. Readers take some settings from
   * the thread, but the time zone from the session.
   */
  static void addThread(SortedMap<String, String> values, SQLConf threadConf) throws Exception {
    SortedMap<String, String> others = valuesOf(threadConf);
    for (String key : new String[] {ZONE, SESSION_ZONE}) {
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
    scala.collection.Iterator<?> entries = conf.getAllConfs().iterator();
    while (entries.hasNext()) {
      Tuple2<?, ?> entry = (Tuple2<?, ?>) entries.next();
      String key = (String) entry._1();
      if (hasPrefix(key) && !entry._2().equals(effective(DEFAULTS, key))) {
        values.put(key, (String) entry._2());
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
    if (key.isEmpty() || !firstCharacters.get(key.charAt(0))) {
      return false;
    }
    for (String prefix : prefixes) {
      if (key.startsWith(prefix)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the names in Hadoop's configuration. The configuration has a thousand of them by
   * default, and its public methods would copy all entries.
   */
  private static Set<Object> hadoopNames() throws Exception {
    if (hadoopProperties == null) {
      Method method = Configuration.class.getDeclaredMethod("getProps");
      method.setAccessible(true);
      hadoopProperties = method;
    }
    return ((Properties) hadoopProperties.invoke(SparkCompat.hadoopConf())).keySet();
  }

  /** Returns the time zone of the driver, and the zone of the executors if it differs. */
  private static String zones(SQLConf conf) {
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

  /** Returns whether Spark has a setting of this name. */
  static boolean isKnown(String key) {
    return SQLConf$.MODULE$.getConfigEntry(key) != null;
  }

  /** Returns whether the effective value of a setting is true. */
  static boolean isTrue(SQLConf conf, String key) {
    return "true".equalsIgnoreCase(effective(conf, key));
  }

  /**
   * Returns the value of a setting in a session, else in Hadoop's configuration if Spark has no
   * setting of that name, else Spark's default, else an empty text.
   */
  static String effective(SQLConf conf, String key) {
    String value = conf.getConfString(key, null);
    if (value == null && SQLConf$.MODULE$.getConfigEntry(key) != null) {
      value = conf.getConfString(key); // the default
    }
    if (value == null && !key.startsWith("spark.") && conf != DEFAULTS) {
      value = SparkCompat.hadoopConf().get(key);
    }
    return value == null ? "" : value;
  }
}
