package io.xskip.rule;

import io.xskip.catalyst.NodeReplacement;
import io.xskip.catalyst.NodeRewriter;
import io.xskip.common.Failures;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import io.xskip.location.IndexDiscovery;
import io.xskip.location.IndexLocation;
import io.xskip.read.KnownClasses;
import io.xskip.read.ReadProfile;
import io.xskip.scan.ListingPreview;
import io.xskip.scan.ScanContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.types.StructType;

/**
 * Gives a skipping file index to the indexed relations of a plan: {@code LogicalRelation} of the
 * first data source API, {@code DataSourceV2ScanRelation} of the second.
 *
 * <p>Spark does not pass conditions that mix partition columns and data columns to a V1 scan, so
 * they come from the Filter above the relation. Neither does it pass conditions with Python
 * functions, which it evaluates between the relation and the Filter.
 */
public final class RelationRewriter extends NodeRewriter<LogicalPlan> {
  private final SkippingSettings settings;

  /** The locations of the indexes of each file index, so that copies of a relation stay equal. */
  private final Map<FileIndex, List<IndexLocation>> locations = new IdentityHashMap<>();

  private final PlanExpressions subqueries = new PlanExpressions(this);

  public RelationRewriter(SkippingSettings settings) {
    this.settings = settings;
  }

  /** Rewrites the relations of a plan, and those of the plans in its expressions. */
  public LogicalPlan rewritePlan(LogicalPlan plan) {
    LogicalPlan rewritten = (LogicalPlan) plan.transformDown(this);
    return rewritten.containsPattern(TreePattern.PLAN_EXPRESSION())
        ? (LogicalPlan) rewritten.transformAllExpressions(subqueries)
        : rewritten;
  }

  /** Returns the locations of a relation's indexes, which are the same for all its copies. */
  private List<IndexLocation> locations(FileIndex index, CatalogTable table) {
    List<IndexLocation> known = (List<IndexLocation>) locations.get(index);
    if (known == null) {
      known = IndexDiscovery.locations(index, table, settings);
      locations.put(index, known);
    }
    return known;
  }

  @Override
  protected boolean matches(Object node) {
    if (node instanceof Filter) {
      LogicalPlan child = ((Filter) node).child();
      return KnownClasses.isRelation(child) || PythonUdfInlining.isEvaluation(child);
    }
    return KnownClasses.isRelation(node) || KnownClasses.isScan(node);
  }

  @Override
  protected Object rewrite(Object node) {
    try {
      if (node instanceof DataSourceV2ScanRelation) {
        return rewriteScan((DataSourceV2ScanRelation) node);
      }
      if (node instanceof LogicalRelation) {
        return rewriteRelation((LogicalRelation) node, null, Collections.emptyList());
      }
      return rewriteFilter((Filter) node);
    } catch (Throwable t) {
      Failures.logFailure("the optimizer rule", t);
      if (settings.strict) {
        throw new RuntimeException(t);
      }
      return node;
    }
  }

  private LogicalPlan rewriteScan(DataSourceV2ScanRelation relation) throws Exception {
    List<IndexLocation> locations = locations(((FileScan) relation.scan()).fileIndex(), null);
    return locations.isEmpty() ? relation : FileScanRewriter.rewrite(relation, locations, settings);
  }

  private LogicalPlan rewriteFilter(Filter filter) throws Exception {
    LogicalPlan child = filter.child();
    if (PythonUdfInlining.isEvaluation(child)) {
      return rewritePythonFilter(filter);
    }
    LogicalPlan rewritten =
        rewriteRelation((LogicalRelation) child, filter.condition(), Collections.emptyList());
    return rewritten == child
        ? filter
        : (LogicalPlan) SparkCompat.exchange(filter, child, rewritten);
  }

  /**
   * Rewrites a filter on results of Python functions, with the plan below it. If only projections,
   * filters and calls of Python functions lie above a relation, then all conditions on columns of
   * the relation apply to the relation.
   */
  private LogicalPlan rewritePythonFilter(Filter filter) throws Exception {
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
    LogicalPlan rewritten = rewriteRelation(relation, adjacent, conditionsOn(relation, conditions));
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

  /**
   * Returns a relation with a skipping file index, or the relation itself if it has no index.
   *
   * @param filter the condition of the Filter above the relation, or null
   * @param conditions conditions with Python functions
   */
  private LogicalPlan rewriteRelation(
      LogicalRelation logical, Expression filter, List<Expression> conditions) throws Exception {
    HadoopFsRelation relation = (HadoopFsRelation) logical.relation();
    CatalogTable table =
        logical.catalogTable().isEmpty() ? null : (CatalogTable) logical.catalogTable().get();
    List<IndexLocation> locations = locations(relation.location(), table);
    if (locations.isEmpty()) {
      return logical;
    }
    ScanContext context = new ScanContext(settings, locations, ReadProfile.of(relation));
    if (filter != null) {
      addMixed(filter, relation.partitionSchema(), context);
    }
    for (Expression condition : conditions) {
      context.addCondition(condition);
    }
    HadoopFsRelation rewritten =
        new HadoopFsRelation(
            new SkippingFileIndex(relation.location(), context),
            relation.partitionSchema(),
            relation.dataSchema(),
            relation.bucketSpec(),
            relation.fileFormat(),
            relation.options(),
            relation.sparkSession());
    LogicalPlan result = (LogicalPlan) SparkCompat.exchange(logical, relation, rewritten);
    LogicalPlan filtered = filter == null ? result : new Filter(filter, result);
    context.setPreview(
        new ListingPreview.OfRelation(
            context, relation.location(), filtered, relation.sparkSession()));
    return result;
  }

  /** Adds the conjuncts that refer to both partition columns and other columns. */
  private static void addMixed(
      Expression condition, StructType partitionSchema, ScanContext context) {
    if (condition instanceof And) {
      addMixed(((And) condition).left(), partitionSchema, context);
      addMixed(((And) condition).right(), partitionSchema, context);
    } else if (isMixed(condition, partitionSchema)) {
      context.addCondition(condition);
    }
  }

  private static boolean isMixed(Expression condition, StructType partitionSchema) {
    List<String> partitionNames = Arrays.asList(partitionSchema.fieldNames());
    boolean hasPartitionColumn = false;
    boolean hasDataColumn = false;
    scala.collection.Iterator<Attribute> columns = condition.references().iterator();
    while (columns.hasNext()) {
      if (partitionNames.contains(((Attribute) columns.next()).name())) {
        hasPartitionColumn = true;
      } else {
        hasDataColumn = true;
      }
    }
    return hasPartitionColumn && hasDataColumn;
  }

  /**
   * Rewrites the plans inside expressions: subqueries, and the copies of a join's side that dynamic
   * partition pruning and runtime filters add.
   *
   * <p>Spark executes such a copy by the exchange of the join's side if both are equal. So a copy
   * and its original get the same file indexes.
   */
  private static final class PlanExpressions extends NodeRewriter<Expression> {
    private final RelationRewriter relations;

    PlanExpressions(RelationRewriter relations) {
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
      LogicalPlan rewritten = relations.rewritePlan(plan);
      return rewritten == plan ? subquery : subquery.withNewPlan(rewritten);
    }
  }
}
