package io.xskip.rewrite;

import io.xskip.scan.FileSelection;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/**
 * Rewrites counts, minimums and maximums over a relation: the metadata answer for files all of
 * whose rows count, and the scan reads only the others [PLN-AG].
 */
final class AggregateRewrite implements Rewrite {
  @Override
  public boolean matches(LogicalPlan node) {
    return node instanceof Aggregate
        && ((Aggregate) node).groupingExpressions().isEmpty()
        && RelationChain.of(((Aggregate) node).child()) != null;
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    Aggregate aggregate = (Aggregate) node;
    RelationChain chain = RelationChain.of(aggregate.child());
    AggregateParts parts = AggregateParts.of(results(aggregate), new AggregateOperands(chain));
    FileSelection others = parts == null || parts.all().isEmpty() ? null : parts.addFiles(chain);
    if (others == null || others.count() == others.listed()) {
      return node;
    }
    LogicalPlan child = chain.selecting(others);
    return child == aggregate.child() ? node : combined(aggregate, parts, child);
  }

  /** Returns the results of an aggregation. */
  @SuppressWarnings("unchecked") // named expressions are expressions
  static List<Expression> results(Aggregate aggregate) {
    return (List<Expression>) (List<?>) Scala.list(aggregate.aggregateExpressions());
  }

  private static LogicalPlan combined(Aggregate aggregate, AggregateParts parts, LogicalPlan child)
      throws Exception {
    List<Expression> combined = new ArrayList<>();
    for (AggregatePart part : parts.all()) {
      combined.add(part.combined());
    }
    return changed(aggregate, new AggregateReplacement(parts, combined), child);
  }

  /** Returns an aggregation with changed results over another plan. */
  static LogicalPlan changed(Aggregate aggregate, AggregateReplacement change, LogicalPlan child)
      throws Exception {
    List<NamedExpression> results = new ArrayList<>();
    for (Expression result : results(aggregate)) {
      results.add((NamedExpression) result.transformUp(change));
    }
    return withResults(aggregate, results, child);
  }

  /** Returns an aggregation with other results over another plan. */
  static LogicalPlan withResults(
      Aggregate aggregate, List<NamedExpression> results, LogicalPlan child) throws Exception {
    Seq<NamedExpression> sequence = (Seq<NamedExpression>) Scala.seq(results);
    Object changed = SparkCompat.exchange(aggregate, aggregate.aggregateExpressions(), sequence);
    return (LogicalPlan) SparkCompat.exchange((Aggregate) changed, aggregate.child(), child);
  }
}
