package io.xskip.rewrite;

import io.xskip.read.KnownClasses;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** Rewrites scans of the second data source API. */
final class ScanRewrite implements Rewrite {
  private final IndexedRelations relations;

  ScanRewrite(IndexedRelations relations) {
    this.relations = relations;
  }

  @Override
  public boolean matches(LogicalPlan node) {
    return KnownClasses.isScan(node);
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    return relations.withIndex((DataSourceV2ScanRelation) node);
  }
}
