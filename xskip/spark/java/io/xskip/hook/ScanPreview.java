package io.xskip.hook;

import io.xskip.common.SparkCompat;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/** The listing that the scan of a relation would make, for the text of a query that did not run. */
abstract class ScanPreview {
  /** The name of the query in the records of a preview, which no report shows. */
  private static final String QUERY = "explain";

  /** Returns the records of the listing, or null if Spark would have to list files for it. */
  abstract List<ScanRecord> records(ScanContext context);

  /** Returns the preview of a relation of the first data source API, below its filter if any. */
  static ScanPreview of(final FileIndex index, final LogicalPlan plan, final SparkSession session) {
    return new ScanPreview() {
      @Override
      List<ScanRecord> records(ScanContext context) {
        FileSourceScanExec scan = plan(plan, session);
        return scan == null
            ? null
            : list(context, index, scan.partitionFilters(), scan.dataFilters());
      }
    };
  }

  /** Returns the preview of a scan of the second data source API. */
  static ScanPreview of(final FileScan scan) {
    return new ScanPreview() {
      @Override
      List<ScanRecord> records(ScanContext context) {
        return list(context, scan.fileIndex(), scan.partitionFilters(), scan.dataFilters());
      }
    };
  }

  private static List<ScanRecord> list(
      ScanContext context,
      FileIndex index,
      Seq<Expression> partitionFilters,
      Seq<Expression> dataFilters) {
    boolean isListed =
        index instanceof PartitioningAwareFileIndex || index instanceof IndexedFileIndex;
    if (!isListed || CallbackExecutor.isInCallback()) {
      return null;
    }
    String before = ScanLog.currentExplain();
    ScanLog.beginExplain(QUERY);
    try {
      return ScanPruner.preview(context, index, withoutSubqueries(partitionFilters), dataFilters);
    } finally {
      ScanLog.endExplain();
      if (before != null) {
        ScanLog.beginExplain(before);
      }
    }
  }

  /** Returns the filters whose values are known before a query runs. */
  static Seq<Expression> withoutSubqueries(Seq<Expression> filters) {
    VectorBuilder<Expression> known = new VectorBuilder<>();
    scala.collection.Iterator<Expression> iterator = filters.iterator();
    while (iterator.hasNext()) {
      Expression filter = (Expression) iterator.next();
      if (!hasSubquery(filter)) {
        known.$plus$eq(filter);
      }
    }
    return known.result();
  }

  private static boolean hasSubquery(Expression expression) {
    if (expression instanceof PlanExpression) {
      return true;
    }
    scala.collection.Iterator<Expression> children = expression.children().iterator();
    while (children.hasNext()) {
      if (hasSubquery((Expression) children.next())) {
        return true;
      }
    }
    return false;
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
