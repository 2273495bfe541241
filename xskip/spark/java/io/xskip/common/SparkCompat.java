package io.xskip.common;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Collections;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.metrics.MetricsSystem;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Product;

/** Access to parts of Spark that differ between its versions, and to the running context. */
public final class SparkCompat {
  private SparkCompat() {}

  /** Returns the execution of a DataFrame, whose class differs between Spark 3 and 4. */
  public static QueryExecution execution(Object df) throws Exception {
    return (QueryExecution) df.getClass().getMethod("queryExecution").invoke(df);
  }

  /** Returns the state of a session, whose class differs between Spark 3 and 4. */
  public static SessionState state(Object session) throws Exception {
    return (SessionState) session.getClass().getMethod("sessionState").invoke(session);
  }

  /** Returns the settings of a session. */
  public static SQLConf conf(Object session) throws Exception {
    return state(session).conf();
  }

  /** Returns the identifier of a session, whose class differs between Spark 3 and 4. */
  public static String sessionId(Object session) throws Exception {
    return (String) session.getClass().getMethod("sessionUUID").invoke(session);
  }

  /** Returns the number of this thread's SQL execution, or null if it runs none. */
  public static String executionId() {
    SparkContext context = context();
    return context == null ? null : context.getLocalProperty("spark.sql.execution.id");
  }

  /**
   * Returns the value of a metric, or -1 if it is unknown. The compiler of the hook cannot choose
   * between both methods of this name.
   */
  public static long value(SQLMetric metric) {
    try {
      return ((Number) metric.getClass().getMethod("value").invoke(metric)).longValue();
    } catch (Exception e) {
      return -1;
    }
  }

  /**
   * Returns how many files a scan that ran has selected, and their bytes, or null if they are not
   * known. Spark 3 keeps the files, and Spark 4 an object with the sums.
   */
  public static long[] selectedSizes(FileSourceScanExec scan) {
    try {
      Object selected = scan.getClass().getMethod("dynamicallySelectedPartitions").invoke(scan);
      if (!(selected instanceof PartitionDirectory[])) {
        return new long[] {sum(selected, "totalNumberOfFiles"), sum(selected, "totalFileSize")};
      }
      long[] sizes = new long[2];
      for (PartitionDirectory directory : (PartitionDirectory[]) selected) {
        scala.collection.Iterator<FileStatusWithMetadata> files = directory.files().iterator();
        while (files.hasNext()) {
          sizes[0]++;
          sizes[1] += ((FileStatusWithMetadata) files.next()).fileStatus().getLen();
        }
      }
      return sizes;
    } catch (Throwable t) { // such as a subquery of a failed query, which has no result
      return null;
    }
  }

  private static long sum(Object selected, String name) throws Exception {
    return ((Number) selected.getClass().getMethod(name).invoke(selected)).longValue();
  }

  /** Clones a session, whose class differs between Spark 3 and 4. */
  public static Object cloneSession(Object session) throws Exception {
    return session.getClass().getMethod("cloneSession").invoke(session);
  }

  /**
   * Returns a copy of a node, a case class, with one element exchanged. The copy has the node's
   * tags. A call of the constructor could not serve all versions of Spark, because they differ in
   * the number of elements.
   *
   * @param element the element to replace, compared by identity
   */
  public static Object exchange(TreeNode<?> node, Object element, Object replacement) {
    Product product = (Product) node;
    Object[] elements = new Object[product.productArity()];
    for (int i = 0; i < elements.length; i++) {
      Object present = product.productElement(i);
      elements[i] = present == element ? replacement : present;
    }
    return node.makeCopy(elements);
  }

  /** Returns {@code FileIndex.isTimeTravel}, or false before Spark 4.3, which lacks the method. */
  public static boolean isTimeTravel(FileIndex index) {
    try {
      return ((Boolean) index.getClass().getMethod("isTimeTravel").invoke(index)).booleanValue();
    } catch (Throwable t) {
      return false;
    }
  }

  /**
   * Returns the short name of a relation's format in lower case. A format of another library goes
   * by its class name, because it can differ from the format of Spark that it extends: an example
   * is the Parquet format of a table format that maps columns.
   */
  public static String format(HadoopFsRelation relation) {
    Object format = relation.fileFormat();
    String className = format.getClass().getName();
    if (!className.startsWith("org.apache.spark.sql.") && !className.startsWith("io.xskip.")) {
      return className;
    }
    String name =
        format instanceof DataSourceRegister
            ? ((DataSourceRegister) format).shortName()
            : format.toString();
    return name.toLowerCase(Locale.ROOT);
  }

  /**
   * Returns whether the schema of a read decides the values that the format returns: the format
   * parses text by the types, or finds columns by position.
   */
  public static boolean readsBySchema(String format) {
    return format.equals("csv")
        || format.equals("json")
        || format.equals("text")
        || format.equals("xml")
        || format.equals("orc") // files of Hive have no column names: columns go by position
        || format.indexOf('.') >= 0; // the class of a plugin may do either
  }

  /**
   * Returns the running context, or null. {@code SparkContext.getOrCreate} would start a context
   * where none runs.
   */
  public static SparkContext context() {
    Option<SparkContext> active = SparkContext$.MODULE$.getActive();
    if (active.isEmpty()) {
      return null;
    }
    SparkContext context = (SparkContext) active.get();
    return context.isStopped() ? null : context;
  }

  /**
   * Returns the metrics system of a context. The compiler of the hook cannot call the method: other
   * methods of Spark 4.3's SparkEnv have classes that the Python package of Spark lacks.
   */
  public static MetricsSystem metricsSystem(SparkContext context) throws Throwable {
    Object env = context.env();
    MethodHandle method =
        MethodHandles.publicLookup()
            .findVirtual(
                env.getClass(), "metricsSystem", MethodType.methodType(MetricsSystem.class));
    return (MetricsSystem) method.invokeWithArguments(Collections.singletonList(env));
  }

  /**
   * Returns the Hadoop configuration of the running context.
   *
   * @throws IllegalStateException if no context runs
   */
  public static Configuration hadoopConf() {
    SparkContext context = context();
    if (context == null) {
      throw new IllegalStateException("the Spark context was stopped");
    }
    return context.hadoopConfiguration();
  }

  /**
   * Makes a session the active session of the thread, as when a DataFrame of the session runs. Many
   * methods of Spark take the settings of the active session.
   *
   * @return the session that was active before, for {@link #activate}
   */
  public static Option<SparkSession> enter(Object session) {
    Option<SparkSession> before = SparkSession.getActiveSession();
    SparkSession.setActiveSession((SparkSession) session);
    return before;
  }

  /** Returns a schema in DDL, whose types the settings of a session decide. */
  public static StructType schema(Object session, String ddl) {
    Option<SparkSession> before = enter(session);
    try {
      return StructType.fromDDL(ddl);
    } finally {
      activate(before);
    }
  }

  /** Makes a session, or none, the active session of the thread. */
  public static void activate(Option<SparkSession> session) {
    if (session.isEmpty()) {
      SparkSession.clearActiveSession();
    } else {
      SparkSession.setActiveSession((SparkSession) session.get());
    }
  }
}
