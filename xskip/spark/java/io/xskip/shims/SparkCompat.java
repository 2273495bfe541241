package io.xskip.shims;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.metrics.MetricsSystem;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningUtils$;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Set;

/** Access to parts of Spark that differ between its versions, and to the running context. */
public final class SparkCompat {
  private static volatile Configuration lastConf;

  private SparkCompat() {}

  /** Returns the files of an index that partition filters leave. */
  public static Seq<PartitionDirectory> listFiles(
      FileIndex index, Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    return index.listFiles(partitionFilters, dataFilters);
  }

  // The classes of sessions and of DataFrames differ between Spark 3 and 4, hence the reflection.

  public static QueryExecution execution(Object df) throws Exception {
    return (QueryExecution) df.getClass().getMethod("queryExecution").invoke(df);
  }

  public static SessionState state(Object session) throws Exception {
    return (SessionState) session.getClass().getMethod("sessionState").invoke(session);
  }

  public static SQLConf conf(Object session) throws Exception {
    return state(session).conf();
  }

  public static String sessionId(Object session) throws Exception {
    return (String) session.getClass().getMethod("sessionUUID").invoke(session);
  }

  /** Returns the number of this thread's SQL execution, or null if it runs none. */
  public static String executionId() {
    SparkContext context = context();
    return context == null ? null : context.getLocalProperty("spark.sql.execution.id");
  }

  /** Returns the value of a metric, or -1 if it is unknown. */
  public static long value(SQLMetric metric) {
    try { // Janino cannot choose between both methods of this name
      return ((Number) metric.getClass().getMethod("value").invoke(metric)).longValue();
    } catch (Exception e) {
      return -1;
    }
  }

  /**
   * Returns how many files a scan that ran has selected, and their bytes; null if they are not
   * known.
   */
  public static long[] selectedSizes(FileSourceScanExec scan) {
    try {
      Object selected = scan.getClass().getMethod("dynamicallySelectedPartitions").invoke(scan);
      if (!(selected instanceof PartitionDirectory[])) { // Spark 4 keeps only the sums
        return new long[] {sum(selected, "totalNumberOfFiles"), sum(selected, "totalFileSize")};
      }
      long[] sizes = new long[2];
      for (PartitionDirectory directory : (PartitionDirectory[]) selected) {
        for (FileStatusWithMetadata file : Scala.list(directory.files())) {
          sizes[0]++;
          sizes[1] += file.fileStatus().getLen();
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

  public static Object cloneSession(Object session) throws Exception {
    return session.getClass().getMethod("cloneSession").invoke(session);
  }

  /**
   * Returns a copy of a node, with its tags, in which an element, compared by identity, is
   * exchanged.
   */
  public static Object exchange(TreeNode<?> node, Object element, Object replacement) {
    // The constructors differ between versions of Spark in the number of elements.
    return node.makeCopy(elements((Product) node, element, replacement));
  }

  /** Returns the elements of a case class. */
  public static Object[] elements(Product product) {
    return elements(product, null, null);
  }

  /** Returns the elements of a case class with one exchanged, which is compared by identity. */
  public static Object[] elements(Product product, Object element, Object replacement) {
    Object[] elements = new Object[product.productArity()];
    for (int i = 0; i < elements.length; i++) {
      Object present = product.productElement(i);
      elements[i] = present == element ? replacement : present;
    }
    return elements;
  }

  /** Returns a new object, or null if no constructor takes as many arguments. */
  public static Object newInstance(Class<?> type, Object[] arguments) throws Exception {
    for (Constructor<?> constructor : type.getConstructors()) {
      if (constructor.getParameterCount() == arguments.length) {
        return constructor.newInstance(arguments);
      }
    }
    return null;
  }

  /** Returns a relation with another file index and other partition columns. */
  public static HadoopFsRelation withIndex(
      HadoopFsRelation relation, FileIndex index, StructType partitionSchema) {
    return new HadoopFsRelation(
        index,
        partitionSchema,
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        relation.sparkSession());
  }

  /**
   * Returns the partition columns and values that Spark reads from the paths of directories.
   *
   * @param schema the partition columns, or null to infer them
   */
  public static PartitionSpec partitions(
      List<Path> directories, Path root, StructType schema, Object session) throws Exception {
    SQLConf conf = conf(session);
    for (Method method : PartitioningUtils$.class.getMethods()) {
      Class<?>[] types = method.getParameterTypes();
      if (!method.getName().equals("parsePartitions") || types[6] != String.class) {
        continue;
      }
      Object[] arguments = new Object[types.length]; // from Spark 4.0 on there is an eighth
      arguments[0] = Scala.seq(directories);
      arguments[1] = Boolean.valueOf(conf.partitionColumnTypeInferenceEnabled());
      arguments[2] = new Set.Set1<Path>(root);
      arguments[3] = Option.apply(schema);
      arguments[4] = Boolean.valueOf(conf.caseSensitiveAnalysis());
      arguments[5] = Boolean.valueOf(conf.validatePartitionColumns());
      arguments[6] = conf.sessionLocalTimeZone();
      for (int i = 7; i < arguments.length; i++) {
        arguments[i] = Boolean.FALSE; // to ignore invalid paths
      }
      return (PartitionSpec) method.invoke(PartitioningUtils$.MODULE$, arguments);
    }
    throw new NoSuchMethodException("PartitioningUtils.parsePartitions");
  }

  /** Returns {@code FileIndex.isTimeTravel}, or false before Spark 4.3, which lacks the method. */
  public static boolean isTimeTravel(FileIndex index) {
    try {
      return ((Boolean) index.getClass().getMethod("isTimeTravel").invoke(index)).booleanValue();
    } catch (Throwable t) {
      return false;
    }
  }

  /** Returns the short name of a relation's format in lower case. */
  public static String format(HadoopFsRelation relation) {
    Object format = relation.fileFormat();
    String className = format.getClass().getName();
    // A format of another library goes by its class name: it can differ from the format of Spark
    // that it extends, such as the Parquet format of a table format that maps columns.
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
   * Returns whether the schema of a read decides the values: the format parses text by types, or
   * finds columns by position.
   */
  public static boolean readsBySchema(String format) {
    return format.equals("csv")
        || format.equals("json")
        || format.equals("text")
        || format.equals("xml")
        || format.equals("orc") // files of Hive have no column names: columns go by position
        || format.indexOf('.') >= 0; // the class of a plugin may do either
  }

  /** Returns the running context, or null. */
  public static SparkContext context() {
    // SparkContext.getOrCreate would start a context where none runs
    Option<SparkContext> active = SparkContext$.MODULE$.getActive();
    if (active.isEmpty()) {
      return null;
    }
    SparkContext context = (SparkContext) active.get();
    return context.isStopped() ? null : context;
  }

  public static MetricsSystem metricsSystem(SparkContext context) throws Throwable {
    // Janino cannot call the method: other methods of Spark 4.3's SparkEnv have classes that the
    // Python package of Spark lacks.
    Object env = context.env();
    MethodHandle method =
        MethodHandles.publicLookup()
            .findVirtual(
                env.getClass(), "metricsSystem", MethodType.methodType(MetricsSystem.class));
    return (MetricsSystem) method.invokeWithArguments(Collections.singletonList(env));
  }

  /**
   * Returns the Hadoop configuration of the running context, or of the last one if none runs: the
   * history of queries is written after a program has stopped its context.
   */
  public static Configuration hadoopConf() {
    SparkContext context = context();
    if (context != null) {
      lastConf = context.hadoopConfiguration();
    }
    if (lastConf == null) {
      throw new IllegalStateException("no Spark context has run");
    }
    return lastConf;
  }

  /**
   * Makes a session active in the thread, as a running DataFrame does, and returns the former one
   * for {@link #activate}.
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

  public static void activate(Option<SparkSession> session) {
    if (session.isEmpty()) {
      SparkSession.clearActiveSession();
    } else {
      SparkSession.setActiveSession((SparkSession) session.get());
    }
  }
}
