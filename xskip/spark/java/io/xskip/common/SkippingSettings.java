package io.xskip.common;

import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.internal.SQLConf;
import scala.Tuple2;

/** A session's settings at the moment a query is optimized. */
public class SkippingSettings {
  /** Settings for sessions that do not have them. */
  public static final ConcurrentHashMap processWide = new ConcurrentHashMap();

  public final String base; // spark.xskip.metadata.location, or null
  public final long rememberMs; // for how long a directory without an index is not looked at again
  public final boolean strict;
  public boolean evaluate; // count what would be skipped, and read nothing of what is indexed
  public final String jobObjects; // spark.xskip.pruning.jobObjects, as Python reads it
  private final SQLConf conf;
  private static final String[] EVALUATED = {
    "spark.sql.ansi.",
    "spark.sql.legacy.",
    "spark.sql.icu.",
    "spark.sql.session.",
    "spark.sql.timestampType",
    "spark.sql.collation",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.json",
    "spark.sql.csv"
  };

  public SkippingSettings(SQLConf conf) {
    String b = value(conf, "spark.xskip.metadata.location", "");
    base = b.length() == 0 ? null : Paths.location(b);
    rememberMs = 1000L * Long.parseLong(value(conf, "spark.xskip.discovery.seconds", "60"));
    strict = "true".equalsIgnoreCase(value(conf, "spark.xskip.strict", "false"));
    evaluate = "true".equalsIgnoreCase(value(conf, "spark.xskip.evaluate", "false"));
    jobObjects = value(conf, "spark.xskip.pruning.jobObjects", "");
    this.conf = conf;
  }

  /** What the values of expressions depend on beside their arguments. */
  public String evaluated() {
    TreeMap found = new TreeMap();
    for (scala.collection.Iterator it = conf.getAllConfs().iterator(); it.hasNext(); ) {
      Tuple2 e = (Tuple2) it.next();
      for (int i = 0; i < EVALUATED.length; i++)
        if (((String) e._1()).startsWith(EVALUATED[i])) found.put(e._1(), e._2());
    }
    return "Spark " + org.apache.spark.package$.MODULE$.SPARK_VERSION() + " " + found;
  }

  /** The session's value, else the process's, else the default. */
  public static String value(SQLConf conf, String key, String otherwise) {
    String own = conf.getConfString(key, ""), mine = (String) processWide.get(key);
    return own.length() > 0 ? own : mine == null ? otherwise : mine;
  }
}
