package io.xskip.rewrite;

import io.xskip.catalyst.NodeReplacement;
import io.xskip.read.KnownClasses;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Rewrites filters on results of Python functions, with the plan below them. If only projections,
 * filters and calls of Python functions lie above a relation, then all conditions on columns of the
 * relation apply to the relation.
 */
final class PythonFilterRewrite implements Rewrite {
  private final IndexedRelations relations;

  PythonFilterRewrite(IndexedRelations relations) {
    this.relations = relations;
  }

  @Override
  public boolean matches(LogicalPlan node) {
    return node instanceof Filter && PythonUdfInlining.isEvaluation(((Filter) node).child());
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    Filter filter = (Filter) node;
    // On the way down, the results of Python functions in the conditions become calls.
    List<Expression> conditions = new ArrayList<>();
    Expression adjacent = null;
    LogicalPlan plan = filter;
    while (isPythonFilterPart(plan)) {
      if (!plan.deterministic()) {
        return filter;
      }
      if (PythonUdfInlining.isEvaluation(plan)) {
        inlineCalls(plan, conditions);
      } else if (plan instanceof Filter) {
        Expression condition = ((Filter) plan).condition();
        if (KnownClasses.isRelation(((Filter) plan).child())) {
          adjacent = condition;
        } else {
          conditions.add(condition);
        }
      }
      plan = (LogicalPlan) plan.children().head();
    }
    if (!KnownClasses.isRelation(plan)) {
      return filter;
    }
    LogicalRelation relation = (LogicalRelation) plan;
    LogicalPlan rewritten =
        relations.withIndex(relation, adjacent, conditionsOn(relation, conditions));
    // The same relation can occur elsewhere in the query without this filter: it is replaced only
    // below the filter.
    return (LogicalPlan) filter.transformDown(new NodeReplacement(relation, rewritten));
  }

  private static boolean isPythonFilterPart(LogicalPlan plan) {
    return plan instanceof Filter
        || plan instanceof Project
        || PythonUdfInlining.isEvaluation(plan);
  }

  private static void inlineCalls(LogicalPlan evaluation, List<Expression> conditions) {
    PythonUdfInlining inlining = new PythonUdfInlining(evaluation);
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      conditions.set(i, (Expression) condition.transformDown(inlining));
    }
  }

  /** Returns the conditions whose columns are all columns of a relation. */
  private static List<Expression> conditionsOn(
      LogicalRelation relation, List<Expression> conditions) {
    List<Expression> applicable = new ArrayList<>();
    for (Expression condition : conditions) {
      if (condition.references().subsetOf(relation.outputSet())) {
        applicable.add(condition);
      }
    }
    return applicable;
  }
}
