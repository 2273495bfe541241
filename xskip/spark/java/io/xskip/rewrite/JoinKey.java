package io.xskip.rewrite;

import io.xskip.shims.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** A column of a relation whose values, and NULL, are those of an output of one side of a join. */
final class JoinKey {
  private final RelationChain chain;
  private final Attribute column;
  private final boolean isPrunable;

  private JoinKey(RelationChain chain, Attribute column, boolean isPrunable) {
    this.chain = chain;
    this.column = column;
    this.isPrunable = isPrunable;
  }

  /** Returns the column that an output of a side of a join is, or null if it is none. */
  static JoinKey of(LogicalPlan side, Attribute output) {
    LogicalPlan plan = side;
    Attribute below = output;
    boolean isPrunable = true;
    while (plan != null && below != null) {
      RelationChain chain = RelationChain.of(plan);
      if (chain != null) {
        Attribute column = chain.column(below);
        boolean isUsable = column != null && ExactColumns.contain(column);
        return isUsable ? new JoinKey(chain, column, isPrunable && chain.isDeterministic()) : null;
      }
      isPrunable &= plan.deterministic(); // numbers of rows depend on the files that are read
      if (plan instanceof Project) {
        below = RelationChain.source(Scala.list(((Project) plan).projectList()), below);
        plan = ((Project) plan).child();
      } else if (plan instanceof Filter) {
        plan = ((Filter) plan).child();
      } else if (plan instanceof Join) {
        Join join = (Join) plan;
        boolean isLeft = join.left().outputSet().contains(below);
        isPrunable &= JoinTypes.keeps(join, isLeft);
        plan = isLeft ? join.left() : join.right();
      } else {
        plan = null;
      }
    }
    return null;
  }

  RelationChain chain() {
    return chain;
  }

  Attribute column() {
    return column;
  }

  /** Returns whether rows of the relation without a partner in the join can be left out. */
  boolean isPrunable() {
    return isPrunable;
  }
}
