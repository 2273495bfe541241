package io.xskip.catalyst;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Replaces one node of a plan, which is compared by identity. */
public final class NodeReplacement extends NodeRewriter<LogicalPlan> {
  private final LogicalPlan target;
  private final LogicalPlan replacement;

  public NodeReplacement(LogicalPlan target, LogicalPlan replacement) {
    this.target = target;
    this.replacement = replacement;
  }

  @Override
  protected boolean matches(Object node) {
    return node == target;
  }

  @Override
  protected Object rewrite(Object node) {
    return replacement;
  }
}
