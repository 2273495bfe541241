package io.xskip.rewrite;

import io.xskip.catalyst.NodeReplacement;
import io.xskip.catalyst.NodeRewriter;
import io.xskip.catalyst.Subqueries;
import io.xskip.read.FileScanHolder;
import io.xskip.read.KnownClasses;
import io.xskip.scan.FactsQuestion;
import io.xskip.scan.FileSelection;
import io.xskip.scan.ListingPreview;
import io.xskip.scan.PlannedRead;
import io.xskip.scan.SkippingIndex;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.planning.PhysicalOperation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import scala.Option;
import scala.Product;
import scala.Tuple3;
import scala.collection.immutable.Seq;

/**
 * A relation with a skipping file index below projections and filters, all of which Spark evaluates
 * in any order.
 */
final class RelationChain {
  private final LogicalPlan plan;
  private final LogicalPlan relation;
  private final SkippingIndex index;

  /** The output of the chain, on the columns of the relation. */
  private final List<NamedExpression> output;

  /** The conjuncts of all filters, on the columns of the relation. */
  private final List<Expression> filters;

  @SuppressWarnings("unchecked") // what Spark's extractor returns
  private RelationChain(LogicalPlan plan, SkippingIndex index, Tuple3<?, ?, ?> operation) {
    this.plan = plan;
    this.index = index;
    output = (List<NamedExpression>) Scala.list((Seq<NamedExpression>) operation._1());
    filters = (List<Expression>) Scala.list((Seq<Expression>) operation._2());
    relation = (LogicalPlan) operation._3();
  }

  /** Returns the chain that a plan is, or null if it is none. */
  static RelationChain of(LogicalPlan plan) {
    Option<?> operation = PhysicalOperation$.MODULE$.unapply(plan);
    if (operation.isEmpty()) {
      return null;
    }
    Tuple3<?, ?, ?> parts = (Tuple3<?, ?, ?>) operation.get();
    LogicalPlan relation = (LogicalPlan) parts._3();
    Object index = indexOf(relation);
    return index instanceof SkippingIndex
        ? new RelationChain(plan, (SkippingIndex) index, parts)
        : null;
  }

  /** Returns the file index of a relation of either data source API, or null. */
  static Object indexOf(LogicalPlan relation) {
    if (relation instanceof LogicalRelation) {
      Object source = ((LogicalRelation) relation).relation();
      return source instanceof HadoopFsRelation ? ((HadoopFsRelation) source).location() : null;
    }
    if (relation instanceof DataSourceV2ScanRelation) {
      FileScan scan = KnownClasses.fileScan(((DataSourceV2ScanRelation) relation).scan());
      return scan != null && !hasAggregates(scan) ? scan.fileIndex() : null;
    }
    return null;
  }

  /** Returns whether a scan returns aggregates of its files instead of their rows. */
  private static boolean hasAggregates(FileScan scan) {
    scala.collection.Iterator<?> elements = ((Product) scan).productIterator();
    while (elements.hasNext()) {
      Object element = elements.next();
      if (element instanceof Option
          && !((Option<?>) element).isEmpty()
          && ((Option<?>) element).get() instanceof Aggregation) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the conditions on the rows of the files that Spark lists; null if they can have other
   * values when the query runs, or if the output depends on the files that are read.
   */
  List<Expression> conditions() {
    List<Expression> conditions = new ArrayList<>();
    for (NamedExpression named : output) {
      if (!((Expression) named).deterministic()) { // such as numbers of rows
        return null;
      }
    }
    for (Expression filter : filters) {
      if (!filter.deterministic() || Subqueries.isIn(filter)) {
        return null;
      }
      if (!isOnPartitions(filter)) { // Spark lists only partitions that satisfy the others
        conditions.add(filter);
      }
    }
    return conditions;
  }

  /** Returns whether rows have the same output whatever other files are read. */
  boolean isDeterministic() {
    boolean isDeterministic = true;
    for (NamedExpression named : output) {
      isDeterministic &= ((Expression) named).deterministic();
    }
    for (Expression filter : filters) {
      isDeterministic &= filter.deterministic();
    }
    return isDeterministic;
  }

  /** Returns the column of the relation that an output of the chain is, or null if it is none. */
  Attribute column(Expression expression) {
    return expression instanceof Attribute ? source(output, (Attribute) expression) : null;
  }

  /** Returns the column that a projection returns as an output, or null if it is none. */
  static Attribute source(List<NamedExpression> projection, Attribute output) {
    Expression source = sourceExpression(projection, output);
    return source instanceof Attribute ? (Attribute) source : null;
  }

  /** Returns the expression that a projection returns as an output, or null. */
  static Expression sourceExpression(List<NamedExpression> projection, Attribute output) {
    for (NamedExpression named : projection) {
      if (named.exprId().equals(output.exprId())) {
        return named instanceof Alias ? ((Alias) named).child() : (Expression) named;
      }
    }
    return null;
  }

  /** Returns an expression on outputs of the chain as one on the columns of the relation. */
  Expression onRelation(Expression expression) {
    return (Expression) expression.transformUp(new OutputReplacement(output));
  }

  /** Replaces outputs of a projection by the expressions that it returns. */
  private static final class OutputReplacement extends NodeRewriter<Expression> {
    private final List<NamedExpression> projection;

    OutputReplacement(List<NamedExpression> projection) {
      this.projection = projection;
    }

    @Override
    protected boolean matches(Object node) {
      return node instanceof Attribute && sourceExpression(projection, (Attribute) node) != null;
    }

    @Override
    protected Object rewrite(Object node) {
      return sourceExpression(projection, (Attribute) node);
    }
  }

  /** Returns the position of a column among the partition columns, or -1. */
  int partition(Attribute column) {
    return Arrays.asList(index.delegate().partitionSchema().fieldNames()).indexOf(column.name());
  }

  /** Returns whether a condition is on partition columns alone, so that Spark applies it itself. */
  boolean isOnPartitions(Expression filter) {
    List<String> names = Arrays.asList(index.delegate().partitionSchema().fieldNames());
    scala.collection.Iterator<Attribute> columns = filter.references().iterator();
    boolean hasColumn = false;
    while (columns.hasNext()) {
      hasColumn = true;
      if (!names.contains(((Attribute) columns.next()).name())) {
        return false;
      }
    }
    return hasColumn && relation instanceof LogicalRelation;
  }

  /**
   * Returns what the indexes say of the files that the query reads, or null if the numbers of rows
   * that they know need not be those that the query finds, or if files are selected already.
   */
  FileFacts facts(FactsQuestion question) throws Exception {
    boolean isSelected = isFilteredAtRuntime() || index.listing().selection() != null;
    if (isSelected || !index.context().readsAllRecords()) {
      return null;
    }
    if (relation instanceof LogicalRelation) {
      HadoopFsRelation source = (HadoopFsRelation) ((LogicalRelation) relation).relation();
      index
          .context()
          .setPreview(
              new ListingPreview.OfRelation(
                  index.context(), index.delegate(), plan, source.sparkSession()));
    }
    return index.listing().facts(question);
  }

  /** Returns how the scan reads its files. */
  PlannedRead read() {
    return index.listing();
  }

  /** Returns the files of the dataset. */
  FileIndex files() {
    return index.delegate();
  }

  /** Returns whether keys or values leave out files of the relation while the query runs. */
  boolean isFilteredAtRuntime() {
    if (relation instanceof LogicalRelation) {
      return ((SkippingFileIndex) index).numbers() != null;
    }
    Object scan = ((DataSourceV2ScanRelation) relation).scan();
    return scan instanceof FileScanHolder && !((FileScanHolder) scan).rewrite().isEmpty();
  }

  /** Returns the relation, of either data source API. */
  LogicalPlan source() {
    return relation;
  }

  /** Returns the relation if it is one of the first data source API, or null. */
  LogicalRelation relation() {
    return relation instanceof LogicalRelation ? (LogicalRelation) relation : null;
  }

  /** Returns the plan with another plan in place of the relation. */
  LogicalPlan replacing(LogicalPlan other) {
    return replacing(plan, other);
  }

  private LogicalPlan replacing(LogicalPlan whole, LogicalPlan other) {
    // upwards, because the other plan can contain the relation
    return (LogicalPlan) whole.transformUp(new NodeReplacement(relation, other));
  }

  /** Returns the conjuncts of all filters, on the columns of the relation. */
  List<Expression> filters() {
    return filters;
  }

  /** Returns the plan with a relation that reads only the files of a selection. */
  LogicalPlan selecting(FileSelection selection) throws Exception {
    return selectingIn(plan, selection);
  }

  /** Returns a plan over the relation, which reads only the files of a selection in it. */
  LogicalPlan selectingIn(LogicalPlan whole, FileSelection selection) throws Exception {
    LogicalPlan selected;
    if (relation instanceof LogicalRelation) {
      HadoopFsRelation source = (HadoopFsRelation) ((LogicalRelation) relation).relation();
      HadoopFsRelation rewritten =
          SparkCompat.withIndex(
              source, ((SkippingFileIndex) index).selecting(selection), source.partitionSchema());
      selected = (LogicalPlan) SparkCompat.exchange(relation, source, rewritten);
    } else {
      selected =
          FileScanBuilder.withIndex(
              (DataSourceV2ScanRelation) relation,
              ((SkippingV2FileIndex) index).selecting(selection));
    }
    return selected == relation ? whole : replacing(whole, selected);
  }
}
