package io.xskip.rewrite;

import io.xskip.common.SkippingSettings;
import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.Tuple8;
import scala.collection.immutable.Seq;

/**
 * Rewrites joins whose one side Spark broadcasts: the keys of that side leave out files of the
 * other side while the query runs [PLN-JN].
 */
final class JoinRewrite implements Rewrite {
  private final Occurrences occurrences;
  private final SQLConf conf;
  private final BroadcastSizes sizes;

  /**
   * Creates the rewrite of a plan.
   *
   * @param occurrences the datasets in the whole plan
   */
  JoinRewrite(Occurrences occurrences, SkippingSettings settings) throws Exception {
    this.occurrences = occurrences;
    conf = SparkCompat.conf(settings.session);
    sizes = new BroadcastSizes(conf);
  }

  @Override
  public boolean matches(LogicalPlan node) {
    // with this setting off, Spark plans no subquery of a pruning filter
    return node instanceof Join
        && ((Join) node).condition().isDefined()
        && conf.dynamicPartitionPruningEnabled();
  }

  @Override
  @SuppressWarnings("unchecked") // what Spark's extractor returns
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    Join join = (Join) node;
    Option<?> found = ExtractEquiJoinKeys$.MODULE$.unapply(join);
    if (found.isEmpty()) {
      return join;
    }
    Tuple8<?, ?, ?, ?, ?, ?, ?, ?> parts = (Tuple8<?, ?, ?, ?, ?, ?, ?, ?>) found.get();
    Seq<Expression> leftKeys = (Seq<Expression>) parts._2();
    Seq<Expression> rightKeys = (Seq<Expression>) parts._3();
    LogicalPlan left = join.left();
    LogicalPlan right = join.right();
    if (JoinTypes.prunes(join, true) && isBroadcast(right)) {
      left = side(leftKeys, right, rightKeys).prune(left);
    }
    if (left == join.left() && JoinTypes.prunes(join, false) && isBroadcast(left)) {
      right = side(rightKeys, left, leftKeys).prune(right);
    }
    Object changed = left == join.left() ? join : SparkCompat.exchange(join, join.left(), left);
    return right == join.right()
        ? (LogicalPlan) changed
        : (LogicalPlan) SparkCompat.exchange((Join) changed, join.right(), right);
  }

  private JoinSide side(Seq<Expression> keys, LogicalPlan other, Seq<Expression> otherKeys) {
    return new JoinSide(occurrences, sizes, keys, new OtherSide(other, otherKeys, 0));
  }

  /** Returns whether Spark is likely to broadcast a side, and whether a filter has left part. */
  private boolean isBroadcast(LogicalPlan side) {
    return JoinSide.isFiltered(side)
        && !side.containsPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY())
        && sizes.contain(side);
  }
}
