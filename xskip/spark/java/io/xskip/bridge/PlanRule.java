package io.xskip.bridge;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** A rule that rewrites logical plans, of type {@code T}. */
abstract class PlanRule<T extends TreeNode<?>> extends Rule<T> {
  protected abstract LogicalPlan rewrite(LogicalPlan plan);

  // Janino creates no bridge methods: by the type parameter, apply has the erased types of the
  // method that it implements.
  @Override
  @SuppressWarnings("unchecked")
  public final T apply(T plan) {
    return (T) rewrite((LogicalPlan) (Object) plan);
  }
}
