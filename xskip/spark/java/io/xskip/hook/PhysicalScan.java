package io.xskip.hook;

import io.xskip.common.SparkCompat;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import scala.collection.immutable.Seq;

/** A scan of files in a physical plan. */
final class PhysicalScan {
  private final String format;
  private final String refusal;
  private final FileIndex index;
  private final Seq<Expression> partitionFilters;
  private final Seq<Expression> dataFilters;

  private PhysicalScan(FileSourceScanExec node) {
    format = SparkCompat.format(node.relation());
    refusal = KnownClasses.refusal(node);
    index = node.relation().location();
    partitionFilters = node.partitionFilters();
    dataFilters = node.dataFilters();
  }

  private PhysicalScan(BatchScanExec node) {
    FileScan scan = (FileScan) node.scan();
    format = FileScanRewriter.format(scan);
    refusal = KnownClasses.refusal(node);
    index = scan.fileIndex();
    partitionFilters = scan.partitionFilters();
    dataFilters = scan.dataFilters();
  }

  /** Returns the scans of files in a plan and its subqueries. */
  static List<PhysicalScan> of(SparkPlan plan) {
    List<PhysicalScan> scans = new ArrayList<>();
    collect(plan, scans);
    return scans;
  }

  private static void collect(SparkPlan plan, List<PhysicalScan> scans) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      collect(((AdaptiveSparkPlanExec) plan).inputPlan(), scans);
      return;
    }
    if (plan instanceof FileSourceScanExec) {
      scans.add(new PhysicalScan((FileSourceScanExec) plan));
    } else if (plan instanceof BatchScanExec && ((BatchScanExec) plan).scan() instanceof FileScan) {
      scans.add(new PhysicalScan((BatchScanExec) plan));
    }
    collectAll(plan.children(), scans);
    collectAll(plan.subqueries(), scans);
  }

  private static void collectAll(Seq<SparkPlan> plans, List<PhysicalScan> scans) {
    scala.collection.Iterator<SparkPlan> iterator = plans.iterator();
    while (iterator.hasNext()) {
      collect((SparkPlan) iterator.next(), scans);
    }
  }

  String format() {
    return format;
  }

  /** Returns whether the relation of this scan has an index. */
  boolean isIndexed() {
    return index instanceof SkippingFileIndex || index instanceof SkippingV2FileIndex;
  }

  /** Returns what the rule does not know in this scan, or an empty text. */
  String refusal() {
    return isIndexed() ? "" : refusal;
  }

  /** Returns the first root path of the relation, or an empty text. */
  String rootPath() {
    return index.rootPaths().isEmpty() ? "" : index.rootPaths().head().toString();
  }

  /** Returns the files that the scan reads. */
  Seq<PartitionDirectory> listFiles() {
    return index.listFiles(partitionFilters, dataFilters);
  }

  /** Makes the next listing ask the indexes. */
  void forgetListing() {
    if (index instanceof SkippingV2FileIndex) {
      ((SkippingV2FileIndex) index).forgetListing();
    }
  }
}
