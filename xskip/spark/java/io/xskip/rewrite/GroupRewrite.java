package io.xskip.rewrite;

import io.xskip.scan.FileSelection;
import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.Metadata;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Rewrites counts, minimums and maximums of groups over a relation, by columns that have one value
 * in each file: the metadata have the groups of whole files, and the scan reads the others
 * [PLN-AG-4].
 *
 * <p>An aggregation over the other files and the groups of the metadata are the branches of a
 * union, over which the aggregates are merged.
 */
final class GroupRewrite implements Rewrite {
  @Override
  public boolean matches(LogicalPlan node) {
    return node instanceof Aggregate
        && !((Aggregate) node).groupingExpressions().isEmpty()
        && RelationChain.of(((Aggregate) node).child()) != null;
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    Aggregate aggregate = (Aggregate) node;
    RelationChain chain = RelationChain.of(aggregate.child());
    FileGroups groups = FileGroups.of(aggregate, chain);
    FileSelection others = groups == null ? null : groups.addFiles(chain);
    // the union costs a little, which a few files less would not save
    if (others == null || others.count() * 2L > others.listed()) {
      return node;
    }
    LogicalPlan child = chain.selecting(others);
    return child == aggregate.child() ? node : merged(aggregate, groups, child);
  }

  private static LogicalPlan merged(Aggregate aggregate, FileGroups groups, LogicalPlan child)
      throws Exception {
    List<NamedExpression> partial = new ArrayList<>();
    for (Expression key : Scala.list(aggregate.groupingExpressions())) {
      partial.add((NamedExpression) key);
    }
    List<Expression> merged = new ArrayList<>();
    for (AggregatePart part : groups.parts().all()) {
      Alias alias = alias(part.aggregate(), "part" + merged.size());
      partial.add(alias);
      merged.add(part.merged(alias.toAttribute()));
    }
    LogicalPlan read = AggregateRewrite.withResults(aggregate, partial, child);
    LogicalPlan[] branches = {read, groups.relation(read)};
    Seq<LogicalPlan> both = (Seq<LogicalPlan>) Scala.seq(Arrays.asList(branches));
    return AggregateRewrite.changed(
        aggregate, new AggregateReplacement(groups.parts(), merged), new Union(both, false, false));
  }

  private static Alias alias(Expression child, String name) {
    Seq<String> none = (Seq<String>) Scala.seq(new ArrayList<String>());
    return new Alias(
        child, name, NamedExpression$.MODULE$.newExprId(), none, Option.<Metadata>empty(), none);
  }
}
