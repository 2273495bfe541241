package io.xskip.rule;

import io.xskip.catalyst.NodeRewriter;
import io.xskip.scan.FactsQuestion;
import io.xskip.scan.FileSelection;
import io.xskip.shims.Scala;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
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
    List<Attribute> keys = FileGroups.keys(aggregate, chain);
    FileGroups groups = keys == null ? null : FileGroups.of(aggregate, chain, keys);
    List<Expression> conditions = groups == null ? null : chain.conditions();
    if (conditions == null) {
      return node;
    }
    FactsQuestion question = new FactsQuestion(conditions, groups.columns());
    FileFacts files = chain.facts(question);
    if (files == null) {
      return node;
    }
    FileSelection others = new FileSelection(AggregateRewrite.NAME, question, files.count(), true);
    ColumnFacts[] facts = groups.facts(files);
    for (int i = 0; i < files.count(); i++) {
      if (!files.isWhole(i) || !groups.addFile(files, facts, i)) {
        others.add(files, i);
      }
    }
    // the union costs a little, which a few files less would not save
    LogicalPlan child =
        others.count() * 2L > files.count() ? aggregate.child() : chain.selecting(others);
    return child == aggregate.child() ? node : merged(aggregate, groups, child);
  }

  private static LogicalPlan merged(Aggregate aggregate, final FileGroups groups, LogicalPlan child)
      throws Exception {
    List<NamedExpression> partial = new ArrayList<>();
    for (Expression key : Scala.list(aggregate.groupingExpressions())) {
      partial.add((NamedExpression) key);
    }
    final List<Attribute> merged = new ArrayList<>();
    for (AggregatePart part : groups.parts()) {
      Alias alias = alias(part.aggregate(), "part" + merged.size());
      partial.add(alias);
      merged.add(alias.toAttribute());
    }
    LogicalPlan read = AggregateRewrite.withResults(aggregate, partial, child);
    LogicalPlan[] branches = {read, groups.relation(read)};
    Seq<LogicalPlan> both = (Seq<LogicalPlan>) Scala.seq(Arrays.asList(branches));
    return AggregateRewrite.changed(
        aggregate,
        new NodeRewriter<Expression>() {
          @Override
          protected boolean matches(Object node) {
            return node instanceof AggregateExpression;
          }

          @Override
          protected Object rewrite(Object node) {
            int position = groups.indexOf((AggregateExpression) node);
            AggregatePart part = (AggregatePart) groups.parts().get(position);
            return part.merged((Expression) merged.get(position));
          }
        },
        new Union(both, false, false));
  }

  private static Alias alias(Expression child, String name) {
    Seq<String> none = (Seq<String>) Scala.seq(new ArrayList<String>());
    return new Alias(
        child, name, NamedExpression$.MODULE$.newExprId(), none, Option.<Metadata>empty(), none);
  }
}
