package io.xskip.rewrite;

import io.xskip.catalyst.NodeRewriter;
import io.xskip.common.Failures;
import io.xskip.common.SkippingSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/**
 * Gives a skipping file index to the indexed relations of a plan: {@code LogicalRelation} of the
 * first data source API, {@code DataSourceV2ScanRelation} of the second. Then rewrites what reads
 * such relations.
 *
 * <p>Spark does not pass conditions that mix partition columns and data columns to a V1 scan, so
 * they come from the Filter above the relation. Neither does it pass conditions with Python
 * functions, which it evaluates between the relation and the Filter.
 */
public final class Rewrites {
  private final SkippingSettings settings;
  private final IndexedRelations relations;
  private final NodeRewriter<LogicalPlan> ofRelations;
  private final NodeRewriter<LogicalPlan> ofReaders;
  private final LimitRewrite limit = new LimitRewrite();
  private final PlanExpressions subqueries = new PlanExpressions(this);

  public Rewrites(SkippingSettings settings) {
    this.settings = settings;
    relations = new IndexedRelations(settings);
    Rewrite[] ofRelations = {
      new ScanRewrite(relations), new RelationRewrite(relations), new PythonFilterRewrite(relations)
    };
    this.ofRelations = new FirstRewrite(settings, Arrays.asList(ofRelations));
    ofReaders = new FirstRewrite(settings, ofReaders());
  }

  /** Returns the rewrites of a plan whose relations have skipping file indexes. */
  private List<Rewrite> ofReaders() {
    List<Rewrite> rewrites = new ArrayList<>();
    if (settings.limit) {
      rewrites.add(limit);
    }
    if (settings.topK) {
      rewrites.add(new TopRewrite());
      rewrites.add(new RankRewrite());
      rewrites.add(new MaxByRewrite());
    }
    if (settings.aggregates) {
      rewrites.add(new AggregateRewrite());
      rewrites.add(new GroupRewrite());
    }
    return rewrites;
  }

  /** Rewrites a plan, and the relations of the plans in its expressions. */
  public LogicalPlan rewritePlan(LogicalPlan plan) throws Exception {
    relations.setPlan(plan);
    LogicalPlan rewritten = rewriteRelations(plan);
    if (settings.evaluate) {
      return rewritten;
    }
    Occurrences occurrences = Occurrences.in(rewritten);
    if (settings.joins) {
      NodeRewriter<LogicalPlan> bounds = only(new JoinBounds(occurrences));
      rewritten = bounds.isDefinedAt(rewritten) ? (LogicalPlan) bounds.apply(rewritten) : rewritten;
    }
    if (settings.subqueries) {
      rewritten = (LogicalPlan) rewritten.transformDown(only(new SubqueryRewrite(occurrences)));
    }
    if (settings.joins) {
      rewritten = (LogicalPlan) rewritten.transformUp(only(new JoinRewrite(occurrences, settings)));
    }
    return settings.ranges
        ? (LogicalPlan) rewritten.transformDown(only(new RangedFileScan.OfRelations()))
        : rewritten;
  }

  private NodeRewriter<LogicalPlan> only(Rewrite rewrite) {
    return new FirstRewrite(settings, Arrays.asList(new Rewrite[] {rewrite}));
  }

  private LogicalPlan rewriteRelations(LogicalPlan plan) {
    LogicalPlan rewritten = (LogicalPlan) plan.transformDown(ofRelations);
    if (!settings.evaluate) {
      limit.setCollected(
          rewritten instanceof GlobalLimit ? ((GlobalLimit) rewritten).child() : null);
      rewritten = (LogicalPlan) rewritten.transformDown(ofReaders);
    }
    return rewritten.containsPattern(TreePattern.PLAN_EXPRESSION())
        ? (LogicalPlan) rewritten.transformAllExpressions(subqueries)
        : rewritten;
  }

  /** Handles each node by the first rewrite that matches it, and leaves a node after an error. */
  private static final class FirstRewrite extends NodeRewriter<LogicalPlan> {
    private final SkippingSettings settings;
    private final List<Rewrite> rewrites;

    FirstRewrite(SkippingSettings settings, List<Rewrite> rewrites) {
      this.settings = settings;
      this.rewrites = rewrites;
    }

    @Override
    protected boolean matches(Object node) {
      return node instanceof LogicalPlan && rewriteOf((LogicalPlan) node) != null;
    }

    /** Returns the rewrite that handles a node, or null. */
    private Rewrite rewriteOf(LogicalPlan node) {
      for (Rewrite rewrite : rewrites) {
        if (rewrite.matches(node)) {
          return rewrite;
        }
      }
      return null;
    }

    @Override
    protected Object rewrite(Object node) {
      try {
        return rewriteOf((LogicalPlan) node).rewrite((LogicalPlan) node);
      } catch (Throwable t) {
        Failures.logFailure("the optimizer rule", t);
        if (settings.strict) {
          throw new RuntimeException(t);
        }
        return node;
      }
    }
  }

  /**
   * Rewrites the plans inside expressions: subqueries, and the copies of a join's side that dynamic
   * partition pruning and runtime filters add.
   *
   * <p>Spark executes such a copy by the exchange of the join's side if both are equal. So a copy
   * and its original get the same file indexes.
   */
  private static final class PlanExpressions extends NodeRewriter<Expression> {
    private final Rewrites relations;

    PlanExpressions(Rewrites relations) {
      this.relations = relations;
    }

    @Override
    protected boolean matches(Object node) {
      return node instanceof PlanExpression
          && ((PlanExpression<?>) node).plan() instanceof LogicalPlan;
    }

    @Override
    @SuppressWarnings("unchecked")
    protected Object rewrite(Object node) {
      PlanExpression<LogicalPlan> subquery = (PlanExpression<LogicalPlan>) node;
      LogicalPlan plan = (LogicalPlan) subquery.plan();
      LogicalPlan rewritten = relations.rewriteRelations(plan);
      return rewritten == plan ? subquery : subquery.withNewPlan(rewritten);
    }
  }
}
