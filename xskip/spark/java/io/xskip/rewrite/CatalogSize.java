package io.xskip.rewrite;

import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;

/**
 * The size of a table in the catalog, which Spark uses instead of the size that a file index has.
 */
final class CatalogSize {
  /** The size of a table for which Spark asks the file index, or the size that has to stay. */
  static final CatalogSize NONE = new CatalogSize(-1);

  private final long bytes;

  private CatalogSize(long bytes) {
    this.bytes = bytes;
  }

  /**
   * Returns the size of a table. The statistics of the cost-based optimizer stay: the share of the
   * rows that it expects of a filter is one of all rows.
   */
  static CatalogSize of(CatalogTable table, SQLConf conf) {
    if (table == null || table.stats().isEmpty() || conf.cboEnabled() || conf.planStatsEnabled()) {
      return NONE;
    }
    double size = ((CatalogStatistics) table.stats().get()).sizeInBytes().doubleValue();
    // Spark multiplies the sizes of file indexes, and not those of the catalog.
    return new CatalogSize((long) (size / conf.fileCompressionFactor()));
  }

  /** Returns the size of the file index for which Spark has the size of the catalog, or -1. */
  long bytes() {
    return bytes;
  }

  /** Returns a relation without statistics of the catalog, so that Spark asks its file index. */
  LogicalPlan remove(LogicalRelation relation) throws Exception {
    CatalogTable table = (CatalogTable) relation.catalogTable().get();
    Object[] elements = SparkCompat.elements(table, table.stats(), Option.empty());
    Object unmeasured = SparkCompat.newInstance(CatalogTable.class, elements);
    return unmeasured == null
        ? relation
        : (LogicalPlan)
            SparkCompat.exchange(relation, relation.catalogTable(), Option.apply(unmeasured));
  }
}
