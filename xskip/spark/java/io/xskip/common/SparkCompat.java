package io.xskip.common;

import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.sources.DataSourceRegister;
import scala.Product;

/** Access to what differs between Spark's versions, and to the running context. */
public class SparkCompat {
  private SparkCompat() {}

  public static QueryExecution execution(Object df) throws Exception {
    return (QueryExecution)
        df.getClass().getMethod("queryExecution", new Class[0]).invoke(df, new Object[0]);
  }

  /**
   * A case class's copy with one element exchanged: the number of elements differs between
   * versions; keeps the tags.
   */
  public static Object exchange(TreeNode t, Object old, Object neu) {
    Product p = (Product) t;
    Object[] a = new Object[p.productArity()];
    for (int i = 0; i < a.length; i++) {
      a[i] = p.productElement(i);
      if (a[i] == old) a[i] = neu;
    }
    return t.makeCopy(a);
  }

  public static boolean isTimeTravel(FileIndex d) { // FileIndex has it from 4.3 on
    try {
      return ((Boolean)
              d.getClass().getMethod("isTimeTravel", new Class[0]).invoke(d, new Object[0]))
          .booleanValue();
    } catch (Throwable t) {
      return false;
    }
  }

  public static String format(HadoopFsRelation r) {
    Object f = r.fileFormat();
    // a format of another's, such as a table format's Parquet with mapped columns, is not what it
    // inherits from
    if (!f.getClass().getName().startsWith("org.apache.spark.sql.")) return f.getClass().getName();
    String name =
        f instanceof DataSourceRegister ? ((DataSourceRegister) f).shortName() : f.toString();
    return name.toLowerCase(Locale.ROOT);
  }

  public static boolean readsBySchema(String format) {
    return format.equals("csv")
        || format.equals("json")
        || format.equals("text")
        || format.equals("xml")
        || format.equals("orc") // files of Hive have no names: columns go by position
        || format.indexOf('.') >= 0; // a class that a plugin declared may do either
  }

  /** A session's state: the session's class differs between Spark 3 and 4. */
  public static SessionState state(Object session) throws Exception {
    return (SessionState)
        session.getClass().getMethod("sessionState", new Class[0]).invoke(session, new Object[0]);
  }

  /** The running context, or null: asking for one where there is none would start another. */
  public static SparkContext context() {
    scala.Option active = SparkContext$.MODULE$.getActive();
    return active.isEmpty() || ((SparkContext) active.get()).isStopped()
        ? null
        : (SparkContext) active.get();
  }

  public static Configuration hadoopConf() {
    SparkContext context = context();
    if (context == null) throw new IllegalStateException("the Spark context was stopped");
    return context.hadoopConfiguration();
  }

  /** A DataFrame's session becomes the active one, as when the DataFrame runs; the one before. */
  public static scala.Option enter(Object df) throws Exception {
    scala.Option before = SparkSession.getActiveSession();
    SparkSession.setActiveSession(execution(df).sparkSession());
    return before;
  }

  /** A session, or none, becomes the active one of the thread. */
  public static void activate(scala.Option session) {
    if (session.isEmpty()) SparkSession.clearActiveSession();
    else SparkSession.setActiveSession((SparkSession) session.get());
  }
}
