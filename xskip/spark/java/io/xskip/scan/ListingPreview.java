package io.xskip.scan;

import io.xskip.catalyst.Subqueries;
import io.xskip.connection.CallbackExecutor;
import io.xskip.listing.IndexedFileIndex;
import io.xskip.shims.SparkCompat;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import scala.Option;

/** Plans scans and lists their files as a query would. */
public final class ListingPreview {
  /** The name of the query in the records of a preview, which no report shows. */
  private static final String QUERY = "explain";

  private ListingPreview() {}

  /** The preview of a relation of the first data source API, below its filter if any. */
  public static final class OfRelation implements ScanPreview {
    private final ScanContext context;
    private final FileIndex index;
    private final LogicalPlan plan;
    private final SparkSession session;

    public OfRelation(
        ScanContext context, FileIndex index, LogicalPlan plan, SparkSession session) {
      this.context = context;
      this.index = index;
      this.plan = plan;
      this.session = session;
    }

    @Override
    public ListingFilters filters() {
      FileSourceScanExec scan = plan(plan, session);
      return scan == null
          ? null
          : new ListingFilters(Subqueries.without(scan.partitionFilters()), scan.dataFilters());
    }

    @Override
    public List<ScanRecord> records() {
      return list(context, index, filters());
    }
  }

  /** The preview of a scan of the second data source API. */
  public static final class OfScan implements ScanPreview {
    private final ScanContext context;
    private final FileScan scan;

    public OfScan(ScanContext context, FileScan scan) {
      this.context = context;
      this.scan = scan;
    }

    @Override
    public ListingFilters filters() {
      return new ListingFilters(scan.partitionFilters(), scan.dataFilters());
    }

    @Override
    public List<ScanRecord> records() {
      return list(context, scan.fileIndex(), filters());
    }
  }

  private static List<ScanRecord> list(
      ScanContext context, FileIndex index, ListingFilters filters) {
    boolean isListed =
        index instanceof PartitioningAwareFileIndex || index instanceof IndexedFileIndex;
    if (!isListed || filters == null || CallbackExecutor.isInCallback()) {
      return null;
    }
    String before = Explanation.current();
    Explanation.begin(QUERY);
    try {
      return ScanPruner.preview(context, index, filters);
    } finally {
      Explanation.end();
      if (before != null) {
        Explanation.begin(before);
      }
    }
  }

  /** Plans a relation as Spark does, and returns its scan, or null. */
  private static FileSourceScanExec plan(LogicalPlan plan, SparkSession session) {
    Option<SparkSession> before = SparkCompat.enter(session);
    try {
      scala.collection.Iterator<SparkPlan> plans =
          FileSourceStrategy$.MODULE$.apply(plan).iterator();
      SparkPlan node = plans.hasNext() ? (SparkPlan) plans.next() : null;
      while (node != null && !(node instanceof FileSourceScanExec)) {
        node = node.children().isEmpty() ? null : (SparkPlan) node.children().head();
      }
      return (FileSourceScanExec) node;
    } finally {
      SparkCompat.activate(before);
    }
  }
}
