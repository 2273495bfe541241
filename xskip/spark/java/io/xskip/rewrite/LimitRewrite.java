package io.xskip.rewrite;

import io.xskip.scan.FactsQuestion;
import io.xskip.scan.FileSelection;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Rewrites LIMIT over a relation: files, or parts of files, all of whose rows match are read until
 * they have enough rows, and nothing else [PLN-LM].
 */
final class LimitRewrite implements Rewrite {
  private static final String NAME = "limit";

  /** A limit whose rows the driver collects, or null. */
  private LogicalPlan collected = null;

  /**
   * Sets the limit at the top of a plan: Spark reads few files for it until the driver has enough
   * rows. Without filters, these are rows of any files, and no index has to be asked.
   */
  void setCollected(LogicalPlan limit) {
    collected = limit;
  }

  @Override
  public boolean matches(LogicalPlan node) {
    return node instanceof LocalLimit
        && ((LocalLimit) node).limitExpr() instanceof Literal
        && RelationChain.of(((LocalLimit) node).child()) != null;
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    LocalLimit limit = (LocalLimit) node;
    Object rows = ((Literal) limit.limitExpr()).value();
    RelationChain chain = RelationChain.of(limit.child());
    List<Expression> conditions = chain.conditions();
    boolean isCheap = node == collected && conditions != null && conditions.isEmpty();
    if (!(rows instanceof Integer) || conditions == null || isCheap) {
      return node;
    }
    FactsQuestion question =
        new FactsQuestion(
            conditions, Collections.<Expression>emptyList(), Collections.<String>emptyList(), 0);
    FileFacts facts = chain.facts(question);
    BitSet chosen = facts == null ? null : choose(facts, ((Integer) rows).intValue());
    if (chosen == null || chosen.cardinality() == facts.count()) {
      return node;
    }
    FileSelection selection =
        new FileSelection(NAME, question, facts, chosen, FileSelection.Kind.SUFFICIENT);
    return (LogicalPlan) SparkCompat.exchange(limit, limit.child(), chain.selecting(selection));
  }

  /** Returns the positions of as few units as have enough matching rows, or null without them. */
  private static BitSet choose(final FileFacts facts, int limit) {
    List<Integer> whole = new ArrayList<>();
    int smallest = -1;
    long sum = 0;
    for (int i = 0; i < facts.count(); i++) {
      if (!facts.isWhole(i) || facts.rows(i) == 0) {
        continue;
      }
      whole.add(Integer.valueOf(i));
      sum += facts.rows(i);
      boolean isSmaller = smallest < 0 || facts.length(i) < facts.length(smallest);
      if (facts.rows(i) >= limit && isSmaller) {
        smallest = i;
      }
    }
    if (sum < limit) {
      return null;
    }
    BitSet chosen = new BitSet(facts.count());
    if (smallest >= 0) {
      chosen.set(smallest);
      return chosen;
    }
    whole.sort(
        new Comparator<Object>() {
          @Override
          public int compare(Object one, Object other) {
            return Long.compare(
                facts.rows(((Integer) other).intValue()), facts.rows(((Integer) one).intValue()));
          }
        });
    long rows = 0;
    for (int i = 0; rows < limit; i++) {
      chosen.set(((Integer) whole.get(i)).intValue());
      rows += facts.rows(((Integer) whole.get(i)).intValue());
    }
    return chosen;
  }
}
