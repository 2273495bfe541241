package io.xskip.rewrite;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * A rewrite of the rule: the shape of the plan nodes that it handles, and what it makes of them.
 */
interface Rewrite {
  boolean matches(LogicalPlan node);

  LogicalPlan rewrite(LogicalPlan node) throws Exception;
}
