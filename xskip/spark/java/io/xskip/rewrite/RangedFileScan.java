package io.xskip.rewrite;

import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;

/** A scan of files of the second data source API that reads only ranges of them. */
final class RangedFileScan extends DelegatingFileScan {
  private RangedFileScan(FileScan scan) {
    super(scan);
  }

  @Override
  public FileScan filteredScan() {
    return null;
  }

  @Override
  public String rewrite() {
    return "";
  }

  /** Exchanges the scans that can read ranges of files. */
  static final class OfRelations implements Rewrite {
    @Override
    public boolean matches(LogicalPlan node) {
      return node instanceof DataSourceV2ScanRelation
          && mayHaveRanges((DataSourceV2ScanRelation) node);
    }

    private static boolean mayHaveRanges(DataSourceV2ScanRelation relation) {
      Object scan = relation.scan();
      return scan instanceof FileScan
          && ((FileScan) scan).fileIndex() instanceof SkippingV2FileIndex
          && ((SkippingV2FileIndex) ((FileScan) scan).fileIndex()).listing().mayHaveRanges();
    }

    @Override
    public LogicalPlan rewrite(LogicalPlan node) {
      FileScan scan = (FileScan) ((DataSourceV2ScanRelation) node).scan();
      return (LogicalPlan) SparkCompat.exchange(node, scan, new RangedFileScan(scan));
    }
  }
}
