package io.xskip.rewrite;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import scala.collection.immutable.Seq;

/** A side of a join: filters that tell its files by the keys of the other side. */
final class JoinSide {
  private final Occurrences occurrences;
  private final BroadcastSizes sizes;
  private final Seq<Expression> keys;
  private final OtherSide other;

  /**
   * Creates a side.
   *
   * @param occurrences the datasets in the whole plan
   * @param other the other side, with any of its keys
   */
  JoinSide(Occurrences occurrences, BroadcastSizes sizes, Seq<Expression> keys, OtherSide other) {
    this.occurrences = occurrences;
    this.sizes = sizes;
    this.keys = keys;
    this.other = other;
  }

  /** Returns whether a filter of a side can leave few rows: more than tests of NULL. */
  static boolean isFiltered(LogicalPlan side) {
    if (side instanceof Filter && !isNullTest(((Filter) side).condition())) {
      return true;
    }
    for (LogicalPlan child : Scala.list(side.children())) {
      if (isFiltered(child)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether a condition has only tests of NULL. */
  static boolean isNullTest(Expression condition) {
    for (Expression conjunct : ExpressionTree.conjuncts(condition)) {
      if (!(conjunct instanceof IsNotNull)) {
        return false;
      }
    }
    return true;
  }

  /** Returns the side with a filter for each of its keys that is a column of a relation. */
  LogicalPlan prune(LogicalPlan side) throws Exception {
    LogicalPlan pruned = side;
    for (int i = 0; i < keys.length(); i++) {
      Expression key = (Expression) keys.apply(i);
      if (key instanceof Attribute) {
        pruned = prune(pruned, (Attribute) key, other.withKey(i), false);
      }
    }
    return pruned;
  }

  /**
   * Returns a plan with a filter on a relation in it, if there is one for a key.
   *
   * @param canBeShared whether an exchange can lie between the plan and the join
   */
  private LogicalPlan prune(LogicalPlan plan, Attribute key, OtherSide keys, boolean canBeShared)
      throws Exception {
    RelationChain chain = RelationChain.of(plan);
    if (chain != null) {
      Attribute column = chain.column(key);
      boolean isUsable = column != null && column.dataType().equals(keys.key().dataType());
      // Spark compares exchanges, to read equal ones once, and to prune partitions
      boolean isAlone =
          occurrences.isSingle(chain.files())
              || (!canBeShared && occurrences.isOutsideOfExpressions(chain.files()));
      return isUsable && isAlone ? withFilter(plan, chain, column, keys) : plan;
    }
    LogicalPlan child = null;
    Attribute below = key;
    boolean hasExchange = canBeShared;
    if (!plan.deterministic()) { // such as numbers of rows, which depend on the files that are read
      return plan;
    }
    if (plan instanceof Union) {
      return pruneBranches((Union) plan, key, keys, canBeShared);
    }
    if (plan instanceof Project) {
      child = ((Project) plan).child();
      below = RelationChain.source(Scala.list(((Project) plan).projectList()), key);
    } else if (plan instanceof Filter) {
      child = ((Filter) plan).child();
    } else if (plan instanceof Aggregate) {
      child = ((Aggregate) plan).child();
      below = groupKey((Aggregate) plan, key);
      hasExchange = true;
    } else if (plan instanceof Join) {
      Join join = (Join) plan;
      child = sideOf(join, key);
      hasExchange |= !sizes.contain(child == join.left() ? join.right() : join.left());
    }
    if (child == null || below == null) {
      return plan;
    }
    LogicalPlan pruned = prune(child, below, keys, hasExchange);
    return pruned == child ? plan : (LogicalPlan) SparkCompat.exchange(plan, child, pruned);
  }

  /** Returns the column by which an aggregation groups its rows for a result, or null. */
  private static Attribute groupKey(Aggregate aggregate, Attribute result) {
    List<NamedExpression> results = Scala.list(aggregate.aggregateExpressions());
    Attribute column = RelationChain.source(results, result);
    for (Expression key : Scala.list(aggregate.groupingExpressions())) {
      if (column != null && key.semanticEquals(column)) {
        return column;
      }
    }
    return null;
  }

  private LogicalPlan pruneBranches(Union union, Attribute key, OtherSide keys, boolean canBeShared)
      throws Exception {
    int position = 0;
    for (Attribute column : Scala.list(union.output())) {
      if (column.exprId().equals(key.exprId())) {
        break;
      }
      position++;
    }
    if (position == union.output().length()) {
      return union;
    }
    List<LogicalPlan> branches = new ArrayList<>();
    for (LogicalPlan branch : Scala.list(union.children())) {
      Attribute column = (Attribute) branch.output().apply(position);
      branches.add(prune(branch, column, keys, canBeShared));
    }
    return branches.equals(Scala.list(union.children()))
        ? union
        : (LogicalPlan) union.withNewChildren((Seq<LogicalPlan>) Scala.seq(branches));
  }

  /** Returns the side of a join whose rows without a key of the outer join can be left out. */
  private static LogicalPlan sideOf(Join join, Attribute key) {
    boolean isLeft = join.left().outputSet().contains(key);
    boolean isRight = !isLeft && join.right().outputSet().contains(key);
    return (isLeft || isRight) && JoinTypes.keeps(join, isLeft)
        ? (isLeft ? join.left() : join.right())
        : null;
  }

  private LogicalPlan withFilter(
      LogicalPlan plan, RelationChain chain, Attribute column, OtherSide keys) throws Exception {
    boolean isFirstApi = chain.relation() != null;
    boolean isPruned = isFirstApi && chain.partition(column) >= 0; // by Spark itself
    if (isPruned || isFilteredBy(chain, column, keys)) {
      return plan;
    }
    if (!isFirstApi) {
      return RuntimeFileScan.filtered(chain, keys.subquery(column));
    }
    NumberedRelation relation = NumberedRelation.of(chain);
    Expression nothing = new Literal(null, column.dataType());
    return relation == null
        ? plan
        : relation.filtered(new JoinPruning(relation.listing(), column), keys.subquery(nothing));
  }

  /** Returns whether a filter of the relation tells its files by the same keys already. */
  private static boolean isFilteredBy(RelationChain chain, Attribute column, OtherSide keys) {
    for (Expression filter : chain.filters()) {
      if (keys.isIn(filter, column)) {
        return true;
      }
    }
    return false;
  }
}
