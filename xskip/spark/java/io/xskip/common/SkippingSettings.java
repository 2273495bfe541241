package io.xskip.common;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.package$;
import org.apache.spark.sql.internal.SQLConf;

/** The settings of a session at the moment at which Spark optimizes a query, or a build begins. */
public final class SkippingSettings {
  // the languages that String.toLowerCase knows: Spark's functions follow their rules
  private static final List<String> CASE_LANGUAGES = Arrays.asList("az", "lt", "tr");

  // for all sessions that do not set a key themselves
  public static final ConcurrentHashMap<String, String> processWide = new ConcurrentHashMap<>();

  private static final String PREFIX = "spark.xskip.";
  private static final long DEFAULT_REMEMBER_MS = 60_000L;
  private static final Pattern PAIR =
      Pattern.compile("\\s*([^\\s=].*?)\\s*=\\s*((?:[A-Za-z][A-Za-z0-9+.-]*:)?/.*?)\\s*");

  // the prefixes of the settings that can change the value of an expression
  private static final String[] EVALUATION_PREFIXES = {
    "spark.sql.ansi.",
    "spark.sql.legacy.",
    "spark.sql.icu.",
    "spark.sql.session.",
    "spark.sql.timestampType",
    "spark.sql.collation",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.columnNameOfCorruptRecord",
    "spark.sql.json",
    "spark.sql.csv"
  };

  public final Object session;
  public final String base; // the key of spark.xskip.metadata.location, or null
  // the directories of the indexes of single datasets, by the key of a path or by db.table
  public final Map<String, String> places;
  public final long rememberMs; // for how long a directory without an index is not looked at again
  public final boolean strict; // whether a query fails where it cannot use its index
  // whether queries only count the files that they would skip, and read no indexed file
  public boolean evaluate;
  public final boolean statistics; // whether sizes of relations are those of the files left
  public final boolean limit; // whether LIMIT leaves out files that it does not need
  public final boolean joins; // whether sides of joins leave out files of other sides
  public final boolean subqueries; // whether values of scalar subqueries leave out files
  public final boolean topK; // whether ORDER BY with LIMIT leaves out files
  public final boolean aggregates; // whether metadata answer counts and bounds
  public boolean ranges; // whether scans read only the ranges of files that can match
  public final boolean writes; // whether writes collect statistics for the index
  public final String jobFiles; // unparsed: Python reads it

  public SkippingSettings(Object session) throws Exception {
    this.session = session;
    SQLConf conf = SparkCompat.conf(session);
    String location = value(conf, "spark.xskip.metadata.location", "");
    base = location.isEmpty() ? null : Paths.location(location);
    places = places(value(conf, "spark.xskip.metadata.places", ""));
    rememberMs = milliseconds(value(conf, "spark.xskip.discovery.seconds", ""));
    strict = flag(conf, "strict", false);
    evaluate = flag(conf, "evaluate", false);
    statistics = flag(conf, "planning.statistics", true);
    limit = flag(conf, "planning.limit", true);
    joins = flag(conf, "planning.joins", true);
    subqueries = flag(conf, "planning.subqueries", true);
    topK = flag(conf, "planning.topK", true);
    aggregates = flag(conf, "planning.aggregates", true);
    ranges = flag(conf, "planning.ranges", true);
    writes = flag(conf, "writes.enabled", true);
    jobFiles = value(conf, "spark.xskip.pruning.jobFiles", "");
  }

  private static Map<String, String> places(String text) {
    Map<String, String> found = new HashMap<>();
    for (String part : text.isEmpty() ? new String[0] : text.split(",")) {
      Matcher pair = PAIR.matcher(part);
      if (pair.matches()) { // Python warns of others
        String dataset = pair.group(1);
        String key = dataset.indexOf('/') >= 0 ? Paths.location(dataset) : dataset;
        found.put(key, Paths.location(pair.group(2)));
      }
    }
    return found;
  }

  public static boolean isEnabled(SQLConf conf) {
    return flag(conf, "enabled", true);
  }

  /**
   * Returns a message to Python with all settings of xskip that a session sets; null if it sets
   * none.
   */
  public static String message(SQLConf conf) {
    final TreeMap<Object, Object> settings = new TreeMap<>();
    for (Map.Entry<Object, Object> setting : Scala.map(conf.getAllConfs()).entrySet()) {
      if (((String) setting.getKey()).regionMatches(true, 0, PREFIX, 0, PREFIX.length())) {
        settings.put(setting.getKey(), setting.getValue());
      }
    }
    if (settings.isEmpty()) {
      return null;
    }
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeFieldName("settings");
            Json.writeStrings(json, settings);
            json.writeEndObject();
          }
        });
  }

  private static boolean flag(SQLConf conf, String name, boolean defaultValue) {
    String text = value(conf, PREFIX + name, "").trim(); // Python warns of other texts
    return defaultValue ? !"false".equalsIgnoreCase(text) : "true".equalsIgnoreCase(text);
  }

  /** Returns a time, by default in seconds; an invalid time becomes the default. */
  private static long milliseconds(String text) {
    String time = text.trim();
    if (time.isEmpty() || time.startsWith("-")) {
      return DEFAULT_REMEMBER_MS;
    }
    try {
      return Character.isDigit(time.charAt(time.length() - 1))
          ? JavaUtils.timeStringAsMs(time + "s")
          : JavaUtils.timeStringAsMs(time);
    } catch (IllegalArgumentException e) { // such as NumberFormatException
      return DEFAULT_REMEMBER_MS;
    }
  }

  /** Returns all on which the value of an expression depends other than its arguments. */
  public static String evaluated(SQLConf conf) {
    TreeMap<Object, Object> settings = new TreeMap<>();
    for (Map.Entry<Object, Object> setting : Scala.map(conf.getAllConfs()).entrySet()) {
      if (startsWithAny((String) setting.getKey(), EVALUATION_PREFIXES)) {
        settings.put(setting.getKey(), setting.getValue());
      }
    }
    String language = language();
    String suffix = language.isEmpty() ? "" : " in " + language;
    return "Spark " + package$.MODULE$.SPARK_VERSION() + " " + settings + suffix;
  }

  /**
   * Returns the JVM's language if it has rules of its own for lower and upper case, else an empty
   * text.
   */
  public static String language() {
    String language = Locale.getDefault().getLanguage();
    return CASE_LANGUAGES.contains(language) ? language : "";
  }

  public static boolean startsWithAny(String key, String[] prefixes) {
    for (String prefix : prefixes) {
      if (key.startsWith(prefix)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the value of a key in the session, else in the process, else the default. */
  public static String value(SQLConf conf, String key, String defaultValue) {
    String sessionValue = conf.getConfString(key, "");
    if (!sessionValue.isEmpty()) {
      return sessionValue;
    }
    String processValue = (String) processWide.get(key);
    return processValue == null ? defaultValue : processValue;
  }
}
