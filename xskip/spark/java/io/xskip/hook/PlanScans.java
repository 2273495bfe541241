package io.xskip.jvm;

import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.internal.SessionState;

/** What differs between Spark's versions, and walks over plans. */
class XSkipPlans {
  static QueryExecution execution(Object df) throws Exception {
    return (QueryExecution) df.getClass().getMethod("queryExecution", new Class[0]).invoke(df, new Object[0]);
  }
  /** A case class's copy with one element exchanged: the number of elements differs between versions; keeps the tags. */
  static Object exchange(TreeNode t, Object old, Object neu) {
    scala.Product p = (scala.Product) t;
    Object[] a = new Object[p.productArity()];
    for (int i = 0; i < a.length; i++) { a[i] = p.productElement(i); if (a[i] == old) a[i] = neu; }
    return t.makeCopy(a);
  }
  static boolean isTimeTravel(FileIndex d) {          // FileIndex has it from 4.3 on
    try { return ((Boolean) d.getClass().getMethod("isTimeTravel", new Class[0]).invoke(d, new Object[0])).booleanValue(); }
    catch (Throwable t) { return false; }
  }
  static String format(HadoopFsRelation r) {
    Object f = r.fileFormat();
    // a format of another's, such as a table format's Parquet with mapped columns, is not what it inherits from
    if (!f.getClass().getName().startsWith("org.apache.spark.sql.")) return f.getClass().getName();
    String name = f instanceof org.apache.spark.sql.sources.DataSourceRegister
        ? ((org.apache.spark.sql.sources.DataSourceRegister) f).shortName() : f.toString();
    return name.toLowerCase(java.util.Locale.ROOT);
  }
  static boolean readsBySchema(String format) {
    return format.equals("csv") || format.equals("json") || format.equals("text") || format.equals("xml")
        || format.equals("orc")                          // files of Hive have no names: columns go by position
        || format.indexOf('.') >= 0;                     // a class that a plugin declared may do either
  }
  /** A session's state: the session's class differs between Spark 3 and 4. */
  static SessionState state(Object session) throws Exception {
    return (SessionState) session.getClass().getMethod("sessionState", new Class[0]).invoke(session, new Object[0]);
  }
  /** The running context, or null: asking for one where there is none would start another. */
  static SparkContext context() {
    scala.Option active = org.apache.spark.SparkContext$.MODULE$.getActive();
    return active.isEmpty() || ((SparkContext) active.get()).isStopped() ? null : (SparkContext) active.get();
  }
  static Configuration hadoopConf() {
    SparkContext context = context();
    if (context == null) throw new IllegalStateException("the Spark context was stopped");
    return context.hadoopConfiguration();
  }

  /** The physical scans of a plan: without adaptive wrappers, with subqueries. */
  private static void scans(SparkPlan plan, ArrayList found) throws Exception {
    if (plan.getClass().getSimpleName().equals("AdaptiveSparkPlanExec")) {
      scans((SparkPlan) plan.getClass().getMethod("inputPlan", new Class[0]).invoke(plan, new Object[0]), found);
      return;
    }
    if (plan instanceof FileSourceScanExec || plan instanceof BatchScanExec) found.add(plan);
    for (scala.collection.Iterator it = plan.children().iterator(); it.hasNext();) scans((SparkPlan) it.next(), found);
    for (scala.collection.Iterator it = plan.subqueries().iterator(); it.hasNext();) scans((SparkPlan) it.next(), found);
  }
  private static Object[] index(Object scan) {        // index, partition filters, data filters; null where not of files
    if (scan instanceof FileSourceScanExec) {
      FileSourceScanExec s = (FileSourceScanExec) scan;
      return new Object[]{s.relation().location(), s.partitionFilters(), s.dataFilters()};
    }
    Object v2 = ((BatchScanExec) scan).scan();
    if (!(v2 instanceof FileScan)) return null;
    FileScan s = (FileScan) v2;
    return new Object[]{s.fileIndex(), s.partitionFilters(), s.dataFilters()};
  }
  private static String name(Object scan) {
    if (scan instanceof FileSourceScanExec) return format(((FileSourceScanExec) scan).relation());
    return ((BatchScanExec) scan).scan().getClass().getSimpleName().replace("Scan", "").toLowerCase(java.util.Locale.ROOT);
  }
  private static @SEQ@ list(Object[] i) { return ((FileIndex) i[0]).listFiles((@SEQ@) i[1], (@SEQ@) i[2]); }

  /** A DataFrame's session becomes the active one, as when the DataFrame runs; the one before. */
  private static scala.Option enter(Object df) throws Exception {
    scala.Option before = SparkSession.getActiveSession();
    SparkSession.setActiveSession(execution(df).sparkSession());
    return before;
  }
  /** A session, or none, becomes the active one of the thread. */
  static void activate(scala.Option session) {
    if (session.isEmpty()) SparkSession.clearActiveSession(); else SparkSession.setActiveSession((SparkSession) session.get());
  }
  /** Lists every scan of a query, which asks the index as running it would: [{"paths":[…],"indexed":true}, …]. */
  static String explain(Object df) throws Exception {
    scala.Option before = enter(df);
    try { return scansOf(df); } finally { activate(before); }
  }
  private static String scansOf(Object df) throws Exception {
    long before = XSkipHub.sequence.get();
    String name = "explain-" + before + "-" + Thread.currentThread().getId();
    ArrayList found = new ArrayList();
    scans(execution(df).executedPlan(), found);
    StringBuilder sb = new StringBuilder("{\"query\":");
    XSkipEncoder.str(sb, name); sb.append(",\"scans\":[");
    XSkipHub.purpose.set(name);
    try {
      int n = 0;
      for (int k = 0; k < found.size(); k++) {
        Object[] i = index(found.get(k));
        if (i == null) continue;
        boolean indexed = i[0] instanceof XSkipFileIndex || i[0] instanceof XSkipV2FileIndex;
        if (i[0] instanceof XSkipV2FileIndex) ((XSkipV2FileIndex) i[0]).refreshAnswer();
        int files = 0; long bytes = 0, seen = XSkipHub.sequence.get();
        for (scala.collection.Iterator d = list(i).iterator(); d.hasNext();) {
          for (scala.collection.Iterator f = ((PartitionDirectory) d.next()).files().iterator(); f.hasNext(); files++) {
            bytes += ((org.apache.spark.sql.execution.datasources.FileStatusWithMetadata) f.next()).fileStatus().getLen();
          }
        }
        if (n++ > 0) sb.append(',');
        Object root = ((FileIndex) i[0]).rootPaths().headOption().isEmpty() ? "" : ((FileIndex) i[0]).rootPaths().head();
        sb.append("{\"path\":"); XSkipEncoder.str(sb, root.toString());
        sb.append(",\"format\":"); XSkipEncoder.str(sb, name(found.get(k)));
        sb.append(",\"indexed\":").append(indexed).append(",\"asked\":").append(XSkipHub.sequence.get() > seen);
        sb.append(",\"files\":").append(files).append(",\"bytes\":").append(bytes).append(",\"refused\":");
        XSkipEncoder.str(sb, indexed ? "" : XSkipKnown.refusal(found.get(k))); sb.append('}');
      }
    } finally {
      XSkipHub.purpose.remove();
    }
    return sb.append("]}").toString();
  }
  /** The one expression that a DataFrame selects, encoded as filters are; null where Spark has made it another plan. */
  static String expression(Object df) throws Exception {
    org.apache.spark.sql.catalyst.plans.logical.LogicalPlan p = execution(df).optimizedPlan();
    if (!(p instanceof org.apache.spark.sql.catalyst.plans.logical.Project) || p.expressions().length() != 1) return null;
    org.apache.spark.sql.catalyst.expressions.Expression e = (org.apache.spark.sql.catalyst.expressions.Expression) p.expressions().head();
    if (e instanceof org.apache.spark.sql.catalyst.expressions.Alias) e = ((org.apache.spark.sql.catalyst.expressions.Alias) e).child();
    return XSkipEncoder.encode(e, new XSkipTerms());
  }
  /** The files that the scans of a query would read. */
  static XSkipListing selected(Object df) throws Exception {
    ArrayList found = new ArrayList(), dirs = new ArrayList();
    scala.Option before = enter(df);
    try {
      scans(execution(df).executedPlan(), found);
      for (int k = 0; k < found.size(); k++) {
        Object[] i = index(found.get(k));
        if (i == null) continue;
        for (scala.collection.Iterator d = list(i).iterator(); d.hasNext();) dirs.add(d.next());
      }
    } finally { activate(before); }
    return new XSkipListing(dirs);
  }
}
