package io.xskip.rewrite;

import io.xskip.read.KnownClasses;
import io.xskip.shims.SparkCompat;
import java.util.Collections;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Rewrites relations of the first data source API, with or without the filter above them. */
final class RelationRewrite implements Rewrite {
  private final IndexedRelations relations;

  RelationRewrite(IndexedRelations relations) {
    this.relations = relations;
  }

  @Override
  public boolean matches(LogicalPlan node) {
    return KnownClasses.isRelation(node)
        || (node instanceof Filter && KnownClasses.isRelation(((Filter) node).child()));
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    if (node instanceof LogicalRelation) {
      return relations.withIndex((LogicalRelation) node, null, Collections.emptyList());
    }
    Filter filter = (Filter) node;
    LogicalRelation child = (LogicalRelation) filter.child();
    LogicalPlan rewritten = relations.withIndex(child, filter.condition(), Collections.emptyList());
    return rewritten == child
        ? filter
        : (LogicalPlan) SparkCompat.exchange(filter, child, rewritten);
  }
}
