package io.xskip.bridge;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/**
 * A rule that rewrites logical plans.
 *
 * <p>Janino creates no bridge methods. So the plan has a type parameter here: {@link #apply} then
 * has the erased types of the method that it implements.
 *
 * @param <T> LogicalPlan
 */
abstract class PlanRule<T extends TreeNode<?>> extends Rule<T> {
  /** Returns the plan that takes the place of a plan. */
  protected abstract LogicalPlan rewrite(LogicalPlan plan);

  @Override
  @SuppressWarnings("unchecked")
  public final T apply(T plan) {
    return (T) rewrite((LogicalPlan) (Object) plan);
  }
}
