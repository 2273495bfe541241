package io.xskip.rewrite;

import io.xskip.shims.Scala;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Rank;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;

/**
 * Rewrites {@code row_number() OVER (PARTITION BY ... ORDER BY ...) <= k} and {@code rank()} over a
 * relation: files that cannot have one of the first rows of a group are not read [PLN-TK-3].
 */
final class RankRewrite implements Rewrite {
  @Override
  public boolean matches(LogicalPlan node) {
    if (!(node instanceof WindowGroupLimit)) {
      return false;
    }
    WindowGroupLimit limit = (WindowGroupLimit) node;
    Expression rank = limit.rankLikeFunction();
    return (rank instanceof RowNumber || rank instanceof Rank)
        && !limit.orderSpec().isEmpty()
        && RelationChain.of(limit.child()) != null;
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    WindowGroupLimit limit = (WindowGroupLimit) node;
    List<Expression> keys = Scala.list(limit.partitionSpec());
    List<SortOrder> orders = Collections.singletonList((SortOrder) limit.orderSpec().head());
    return TopSelection.rewrite(node, limit.child(), keys, orders, limit.limit());
  }
}
