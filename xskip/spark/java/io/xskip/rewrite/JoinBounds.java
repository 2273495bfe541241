package io.xskip.rewrite;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.scan.PlannedReads;
import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/**
 * The relations whose columns the joins of a plan compare, and their files whose bounds leave a
 * partner possible [PLN-JB].
 *
 * <p>A file is left out if no row of the other relation's files that are left can be a partner of
 * its rows. Then the result of the plan is the same without its rows, so that one file after
 * another can be left out. The plan has to read the other relation from these very files.
 */
final class JoinBounds implements Rewrite {
  /** How often files are left out by those that are left of other relations. */
  private static final int MAX_ROUNDS = 10;

  private final Occurrences occurrences;
  private final Map<LogicalPlan, JoinedRelation> relations = new IdentityHashMap<>();
  private final List<JoinedRelation> inOrder = new ArrayList<>();
  private final List<JoinedPair> pairs = new ArrayList<>();

  /**
   * Creates the rewrite of a whole plan.
   *
   * @param occurrences the datasets in the plan
   */
  JoinBounds(Occurrences occurrences) {
    this.occurrences = occurrences;
  }

  @Override
  public boolean matches(LogicalPlan plan) {
    return occurrences.areSeveral() && plan.containsPattern(TreePattern.JOIN());
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan plan) throws Exception {
    addJoins(plan);
    if (!prune()) {
      return plan;
    }
    PlannedReads reads = new PlannedReads();
    for (JoinedRelation relation : inOrder) {
      if (relation.read() != null) {
        reads.add(relation.read());
      }
    }
    LogicalPlan pruned = plan;
    for (JoinedRelation relation : inOrder) {
      pruned = relation.selecting(pruned, reads);
    }
    return pruned;
  }

  private void addJoins(LogicalPlan plan) {
    for (LogicalPlan child : Scala.list(plan.children())) {
      addJoins(child);
    }
    boolean hasCondition = plan instanceof Join && ((Join) plan).condition().isDefined();
    if (hasCondition && ((Expression) ((Join) plan).condition().get()).deterministic()) {
      addComparisons((Join) plan);
    }
  }

  private void addComparisons(Join join) {
    boolean prunesLeft = JoinTypes.prunes(join, true);
    boolean prunesRight = JoinTypes.prunes(join, false);
    if (!prunesLeft && !prunesRight) {
      return;
    }
    Map<List<Object>, JoinedPair> ofJoin = new LinkedHashMap<>();
    for (Expression conjunct : ExpressionTree.conjuncts((Expression) join.condition().get())) {
      JoinComparison comparison = JoinComparison.of(conjunct);
      if (comparison != null && !join.left().outputSet().contains(comparison.one)) {
        comparison = comparison.flipped();
      }
      JoinKey left = comparison == null ? null : JoinKey.of(join.left(), comparison.one);
      JoinKey right = left == null ? null : JoinKey.of(join.right(), comparison.other);
      boolean isUsable =
          right != null && left.column().dataType().equals(right.column().dataType());
      JoinedRelation one = isUsable ? relation(left) : null;
      JoinedRelation other = one == null ? null : relation(right);
      boolean prunesOne = prunesLeft && isUsable && left.isPrunable();
      boolean prunesOther = prunesRight && isUsable && right.isPrunable();
      if (other != null && (prunesOne || prunesOther)) {
        List<Object> key = new ArrayList<>();
        key.add(one);
        key.add(other);
        if (!ofJoin.containsKey(key)) {
          ofJoin.put(key, new JoinedPair(one, other, prunesOne, prunesOther));
        }
        ((JoinedPair) ofJoin.get(key)).add(comparison.on(left.column(), right.column()));
      }
    }
    pairs.addAll(ofJoin.values());
  }

  /** Returns the relation of a key, or null if Spark can share a part of the plan over it. */
  private JoinedRelation relation(JoinKey key) {
    LogicalPlan plan = key.chain().source();
    JoinedRelation known = (JoinedRelation) relations.get(plan);
    if (known == null && occurrences.isSingle(key.chain().files())) {
      known = new JoinedRelation(key.chain());
      relations.put(plan, known);
      inOrder.add(known);
    }
    return known;
  }

  /** Leaves out files while others can be left out, and returns whether there are any. */
  private boolean prune() throws Exception {
    List<JoinedPair> known = knownPairs();
    boolean isPruned = false;
    boolean isChanged = true;
    for (int round = 0; isChanged && round < MAX_ROUNDS; round++) {
      isChanged = false;
      for (JoinedPair pair : known) {
        isChanged |= pair.prune();
      }
      isPruned |= isChanged;
    }
    return isPruned;
  }

  /** Returns the pairs whose bounds are known, of those that joins connect with a filter. */
  private List<JoinedPair> knownPairs() throws Exception {
    List<JoinedPair> known = new ArrayList<>();
    List<JoinedPair> open = new ArrayList<>(pairs);
    boolean isChanged = true;
    while (isChanged) {
      isChanged = false;
      for (JoinedPair pair : new ArrayList<>(open)) {
        if (pair.isSelective()) {
          open.remove(pair);
          if (pair.isKnown()) {
            known.add(pair);
            pair.markSelective();
            isChanged = true;
          }
        }
      }
    }
    return known;
  }
}
