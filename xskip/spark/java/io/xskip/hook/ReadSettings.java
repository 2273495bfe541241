package io.xskip.hook;

import io.xskip.common.Json;
import io.xskip.common.SparkCompat;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Tuple2;

/** Options and settings of a reading, as JSON. */
public class ReadSettings {
  private static final SQLConf DEFAULTS = new SQLConf();
  private static volatile Method properties = null;
  private static final String ZONE = "user.timezone";

  /** Reader options; one that names a file stands for the content of the file. */
  static void options(StringBuilder sb, Object options) {
    TreeMap found = new TreeMap();
    if (options instanceof Map) found.putAll((Map) options);
    else if (options != null) {
      for (scala.collection.Iterator it = ((scala.collection.Iterable) options).iterator();
          it.hasNext(); ) {
        Tuple2 e = (Tuple2) it.next();
        found.put(e._1(), e._2());
      }
    }
    for (Iterator it = found.entrySet().iterator(); it.hasNext(); ) {
      Map.Entry e = (Map.Entry) it.next();
      String name = ((String) e.getKey()).toLowerCase(Locale.ROOT);
      if (name.equals("avroschemaurl") || name.equals("rowvalidationxsdpath"))
        e.setValue(content(String.valueOf(e.getValue())));
    }
    Json.strings(sb, found);
  }

  private static String content(String file) {
    try {
      Path path = new Path(file);
      InputStream in = path.getFileSystem(SparkCompat.hadoopConf()).open(path);
      try {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] some = new byte[8192];
        for (int n = in.read(some); n >= 0; n = in.read(some)) digest.update(some, 0, n);
        return "sha256:"
            + String.format("%064x", new Object[] {new BigInteger(1, digest.digest())});
      } finally {
        in.close();
      }
    } catch (Throwable t) {
      return "unreadable";
    }
  }

  /**
   * The values of HookState.confKeys, and of all settings with the beginnings that count which are
   * set to something else than Spark's default. Readers take settings from the session of the
   * DataFrame and from the one that runs the query: where the two differ, both stand here.
   */
  static void settings(StringBuilder sb, SQLConf asking, SQLConf own, boolean temporal)
      throws Exception {
    Map found = settings(asking);
    if (own != asking) {
      Map others = settings(own);
      for (Iterator it = others.entrySet().iterator(); it.hasNext(); ) {
        Map.Entry e = (Map.Entry) it.next();
        Object before = found.get(e.getKey());
        if (!e.getValue().equals(before)) found.put(e.getKey(), before + " and " + e.getValue());
      }
      for (Iterator it = found.entrySet().iterator(); it.hasNext(); ) {
        Map.Entry e = (Map.Entry) it.next();
        if (!others.containsKey(e.getKey())) e.setValue(e.getValue() + " and null");
      }
    }
    found.remove(ZONE);
    if (temporal) found.put(ZONE, zones(asking));
    Json.strings(sb, found);
  }

  /**
   * The default zone of the JVM, and those that executors are told to have where they are others.
   */
  private static String zones(SQLConf conf) {
    String own = TimeZone.getDefault().getID();
    TreeSet all = new TreeSet();
    if (conf.getConfString("spark.master", "local").startsWith("local")) return own;
    Matcher told =
        Pattern.compile("-Duser[.]timezone=(\\S+)")
            .matcher(conf.getConfString("spark.executor.extraJavaOptions", ""));
    if (told.find()) all.add(told.group(1));
    else all.add(conf.getConfString("spark.executorEnv.TZ", own));
    all.remove(own);
    return all.isEmpty() ? own : own + ", executors " + all;
  }

  /**
   * The names in Hadoop's configuration, of which it has a thousand by itself: a copy of them all
   * would take too long.
   */
  private static Set hadoopNames() throws Exception {
    if (properties == null) {
      Method found = Configuration.class.getDeclaredMethod("getProps", new Class[0]);
      found.setAccessible(true);
      properties = found;
    }
    return ((Properties) properties.invoke(SparkCompat.hadoopConf(), new Object[0])).keySet();
  }

  private static boolean counts(String key) {
    for (int i = 0; i < HookState.confPrefixes.length; i++)
      if (key.startsWith(HookState.confPrefixes[i])) return true;
    return false;
  }

  private static Map settings(SQLConf conf) throws Exception {
    TreeMap found = new TreeMap();
    for (scala.collection.Iterator it = conf.getAllConfs().iterator(); it.hasNext(); ) {
      Tuple2 e = (Tuple2) it.next();
      String key = (String) e._1();
      if (counts(key) && !e._2().equals(effective(DEFAULTS, key))) found.put(key, e._2());
    }
    for (Iterator it = hadoopNames().iterator(); it.hasNext(); ) {
      Object name = it.next();
      if (!(name instanceof String)) continue;
      String key = (String) name;
      if (counts(key) && !key.startsWith("spark.") && !found.containsKey(key)) {
        found.put(key, String.valueOf(SparkCompat.hadoopConf().get(key)));
      }
    }
    for (int i = 0; i < HookState.confKeys.length; i++)
      found.put(HookState.confKeys[i], effective(conf, HookState.confKeys[i]));
    return found;
  }

  /**
   * A setting of a session, else of Hadoop's configuration where it has one of that name, else
   * Spark's default, else nothing.
   */
  static String effective(SQLConf conf, String key) {
    String value = conf.getConfString(key, null);
    if (value == null && SQLConf$.MODULE$.getConfigEntry(key) != null)
      value = conf.getConfString(key); // the default
    if (value == null && !key.startsWith("spark.") && conf != DEFAULTS)
      value = SparkCompat.hadoopConf().get(key);
    return value == null ? "" : value;
  }
}
