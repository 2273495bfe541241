package io.xskip.questdb;

import io.xskip.catalyst.NodeReplacement;
import io.xskip.shims.DataFrames;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.ConstantFolding$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.Filter;
import scala.Option;

/**
 * A DataFrame of which only the latest row of each value of a SYMBOL column counts. Rules:
 * [QDB-SP-9].
 */
final class LatestQuery {
  private final Object df;
  private final QueryExecution execution;

  // the names of the relation's columns by the attributes of the plan that are equal to them
  private final Map<ExprId, String> columns = new HashMap<>();

  private final List<Filter> filters = new ArrayList<>();
  private LogicalRelation relation = null;

  LatestQuery(Object df) throws Exception {
    this.df = df;
    this.execution = SparkCompat.execution(df);
  }

  /**
   * Returns the DataFrame with a table that lists fewer pieces, and the most rows that it reads; or
   * itself, and null.
   */
  Object[] result(int timestamp, int symbol) throws Exception {
    Option<SparkSession> before = SparkCompat.enter(execution.sparkSession());
    try {
      return resultInSession(timestamp, symbol);
    } finally {
      SparkCompat.activate(before);
    }
  }

  private Object[] resultInSession(int timestamp, int symbol) throws Exception {
    LogicalPlan plan = execution.analyzed();
    if (hasCachedData() || !follow(plan)) {
      return new Object[] {df, null};
    }
    HadoopFsRelation files = (HadoopFsRelation) relation.relation();
    String time = name((Expression) plan.output().apply(timestamp));
    String key = name((Expression) plan.output().apply(symbol));
    LatestRows latest = time == null || key == null ? null : LatestRows.of(time, key, filters);
    if (latest == null) {
      return new Object[] {df, null};
    }
    PieceIndex pieces = ((PieceIndex) files.location()).latest(latest);
    HadoopFsRelation fewer = SparkCompat.withIndex(files, pieces, files.partitionSchema());
    LogicalPlan replacement = (LogicalPlan) SparkCompat.exchange(relation, files, fewer);
    LogicalPlan rewritten =
        (LogicalPlan) plan.transformDown(new NodeReplacement(relation, replacement));
    Object result = DataFrames.ofPlan(df.getClass(), execution.sparkSession(), rewritten);
    return new Object[] {result, pieces.rows()};
  }

  private boolean hasCachedData() { // which is not to be read again
    return !(execution.withCachedData().collectLeaves().head() instanceof LogicalRelation);
  }

  /** Follows a plan down to a table, and returns whether each step is understood. */
  private boolean follow(LogicalPlan plan) {
    String name = plan.getClass().getSimpleName();
    if (plan instanceof LogicalRelation) {
      Object found = ((LogicalRelation) plan).relation();
      relation = (LogicalRelation) plan;
      for (Attribute column : Scala.list(plan.output())) {
        columns.put(column.exprId(), column.name());
      }
      return found instanceof HadoopFsRelation
          && ((HadoopFsRelation) found).location() instanceof PieceIndex;
    }
    boolean isStep =
        plan instanceof Project
            || plan instanceof org.apache.spark.sql.catalyst.plans.logical.Filter
            || name.equals("SubqueryAlias")
            || name.equals("View");
    if (!isStep || plan.children().length() != 1 || !follow((LogicalPlan) plan.children().head())) {
      return false;
    }
    if (plan instanceof Project) {
      addAliases((Project) plan);
    }
    return !(plan instanceof org.apache.spark.sql.catalyst.plans.logical.Filter)
        || addFilter((org.apache.spark.sql.catalyst.plans.logical.Filter) plan);
  }

  private void addAliases(Project project) {
    for (Object each : Scala.list(project.projectList())) {
      String name = each instanceof Alias ? name(((Alias) each).child()) : null;
      if (name != null) {
        columns.put(((Alias) each).exprId(), name);
      }
    }
  }

  /** Returns the name of the relation's column that an expression has the values of, or null. */
  private String name(Expression expression) {
    Expression inner = expression;
    while (inner instanceof Cast && ((Cast) inner).child().dataType().equals(inner.dataType())) {
      inner = ((Cast) inner).child();
    }
    return inner instanceof AttributeReference
        ? (String) columns.get(((AttributeReference) inner).exprId())
        : null;
  }

  /** Adds a filter, and returns whether it has a form for data sources. */
  private boolean addFilter(org.apache.spark.sql.catalyst.plans.logical.Filter filter) {
    Expression condition = filter.condition();
    if (condition.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE())) {
      return false; // its value is another one when the query runs
    }
    for (Attribute column : Scala.list(condition.references())) {
      if (!column.name().equals(columns.get(column.exprId()))) {
        return false;
      }
    }
    LogicalPlan folded = (LogicalPlan) ConstantFolding$.MODULE$.apply(filter);
    if (!(folded instanceof org.apache.spark.sql.catalyst.plans.logical.Filter)) {
      return false;
    }
    Option<Filter> form =
        DataSourceStrategy$.MODULE$.translateFilter(
            ((org.apache.spark.sql.catalyst.plans.logical.Filter) folded).condition(), false);
    return !form.isEmpty() && filters.add((Filter) form.get());
  }
}
