package io.xskip.hook;

import io.xskip.common.Json;
import io.xskip.common.SparkCompat;
import io.xskip.files.FileListing;
import java.util.ArrayList;
import java.util.Locale;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import scala.collection.immutable.Seq;

/** What differs between Spark's versions, and walks over plans. */
public class PlanScans {

  /** The physical scans of a plan: without adaptive wrappers, with subqueries. */
  private static void scans(SparkPlan plan, ArrayList found) throws Exception {
    if (plan.getClass().getSimpleName().equals("AdaptiveSparkPlanExec")) {
      scans(
          (SparkPlan)
              plan.getClass().getMethod("inputPlan", new Class[0]).invoke(plan, new Object[0]),
          found);
      return;
    }
    if (plan instanceof FileSourceScanExec || plan instanceof BatchScanExec) found.add(plan);
    for (scala.collection.Iterator it = plan.children().iterator(); it.hasNext(); )
      scans((SparkPlan) it.next(), found);
    for (scala.collection.Iterator it = plan.subqueries().iterator(); it.hasNext(); )
      scans((SparkPlan) it.next(), found);
  }

  private static Object[] index(
      Object scan) { // index, partition filters, data filters; null where not of files
    if (scan instanceof FileSourceScanExec) {
      FileSourceScanExec s = (FileSourceScanExec) scan;
      return new Object[] {s.relation().location(), s.partitionFilters(), s.dataFilters()};
    }
    Object v2 = ((BatchScanExec) scan).scan();
    if (!(v2 instanceof FileScan)) return null;
    FileScan s = (FileScan) v2;
    return new Object[] {s.fileIndex(), s.partitionFilters(), s.dataFilters()};
  }

  private static String name(Object scan) {
    if (scan instanceof FileSourceScanExec)
      return SparkCompat.format(((FileSourceScanExec) scan).relation());
    return ((BatchScanExec) scan)
        .scan()
        .getClass()
        .getSimpleName()
        .replace("Scan", "")
        .toLowerCase(Locale.ROOT);
  }

  private static Seq list(Object[] i) {
    return ((FileIndex) i[0]).listFiles((Seq) i[1], (Seq) i[2]);
  }

  /**
   * Lists every scan of a query, which asks the index as running it would:
   * [{"paths":[…],"indexed":true}, …].
   */
  public static String explain(Object df) throws Exception {
    scala.Option before = SparkCompat.enter(df);
    try {
      return scansOf(df);
    } finally {
      SparkCompat.activate(before);
    }
  }

  private static String scansOf(Object df) throws Exception {
    long before = HookState.sequence.get();
    String name = "explain-" + before + "-" + Thread.currentThread().getId();
    ArrayList found = new ArrayList();
    scans(SparkCompat.execution(df).executedPlan(), found);
    StringBuilder sb = new StringBuilder("{\"query\":");
    Json.string(sb, name);
    sb.append(",\"scans\":[");
    HookState.purpose.set(name);
    try {
      int n = 0;
      for (int k = 0; k < found.size(); k++) {
        Object[] i = index(found.get(k));
        if (i == null) continue;
        boolean indexed = i[0] instanceof SkippingFileIndex || i[0] instanceof SkippingV2FileIndex;
        if (i[0] instanceof SkippingV2FileIndex) ((SkippingV2FileIndex) i[0]).refreshAnswer();
        int files = 0;
        long bytes = 0, seen = HookState.sequence.get();
        for (scala.collection.Iterator d = list(i).iterator(); d.hasNext(); ) {
          for (scala.collection.Iterator f = ((PartitionDirectory) d.next()).files().iterator();
              f.hasNext();
              files++) {
            bytes += ((FileStatusWithMetadata) f.next()).fileStatus().getLen();
          }
        }
        if (n++ > 0) sb.append(',');
        Object root =
            ((FileIndex) i[0]).rootPaths().headOption().isEmpty()
                ? ""
                : ((FileIndex) i[0]).rootPaths().head();
        sb.append("{\"path\":");
        Json.string(sb, root.toString());
        sb.append(",\"format\":");
        Json.string(sb, name(found.get(k)));
        sb.append(",\"indexed\":")
            .append(indexed)
            .append(",\"asked\":")
            .append(HookState.sequence.get() > seen);
        sb.append(",\"files\":")
            .append(files)
            .append(",\"bytes\":")
            .append(bytes)
            .append(",\"refused\":");
        Json.string(sb, indexed ? "" : KnownClasses.refusal(found.get(k)));
        sb.append('}');
      }
    } finally {
      HookState.purpose.remove();
    }
    return sb.append("]}").toString();
  }

  /** The files that the scans of a query would read. */
  public static FileListing selected(Object df) throws Exception {
    ArrayList found = new ArrayList(), dirs = new ArrayList();
    scala.Option before = SparkCompat.enter(df);
    try {
      scans(SparkCompat.execution(df).executedPlan(), found);
      for (int k = 0; k < found.size(); k++) {
        Object[] i = index(found.get(k));
        if (i == null) continue;
        for (scala.collection.Iterator d = list(i).iterator(); d.hasNext(); ) dirs.add(d.next());
      }
    } finally {
      SparkCompat.activate(before);
    }
    return new FileListing(dirs);
  }
}
