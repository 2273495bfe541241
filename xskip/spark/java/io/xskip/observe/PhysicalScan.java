package io.xskip.observe;

import io.xskip.catalyst.ExpressionTree;
import io.xskip.catalyst.Subqueries;
import io.xskip.read.FileScanHolder;
import io.xskip.read.KnownClasses;
import io.xskip.scan.NumberedListing;
import io.xskip.scan.RuntimePruning;
import io.xskip.scan.ScanContext;
import io.xskip.scan.ScanLog;
import io.xskip.scan.ScanRecord;
import io.xskip.scan.SkippingIndex;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.InSubqueryExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import scala.Option;
import scala.collection.immutable.Seq;

/** A scan of files in a physical plan. */
final class PhysicalScan {
  /** The internal option with which Spark's inference of schemas and file streams name files. */
  private static final String GLOB_PATHS = "__globPaths__";

  private final SparkPlan node;

  /** Whether the scan is in the plan of a cached relation, which does not read files again. */
  private final boolean isCached;

  private final String format;
  private final String refusal;
  private final FileIndex index;
  private final Seq<Expression> partitionFilters;
  private final Seq<Expression> dataFilters;

  /** The condition of a filter on the rows of the scan, or null. */
  private final Expression above;

  /** Whether dynamic partition pruning selects some of the listed files when the scan runs. */
  private final boolean isPrunedAsItRuns;

  /** The name of the table, or an empty text. */
  private final String table;

  private PhysicalScan(FileSourceScanExec node, boolean isCached, Expression above) {
    this.node = node;
    this.isCached = isCached;
    this.above = above;
    table =
        node.tableIdentifier().isEmpty()
            ? ""
            : ((TableIdentifier) node.tableIdentifier().get()).unquotedString();
    format = SparkCompat.format(node.relation());
    refusal = KnownClasses.refusal(node);
    index = node.relation().location();
    Seq<Expression> known = Subqueries.without(node.partitionFilters());
    partitionFilters = NumberedListing.without(known);
    isPrunedAsItRuns = known.length() < node.partitionFilters().length();
    dataFilters = node.dataFilters();
  }

  private PhysicalScan(BatchScanExec node, boolean isCached) {
    this.node = node;
    this.isCached = isCached;
    above = null;
    table = "";
    FileScan scan = KnownClasses.fileScan(node.scan());
    format = KnownClasses.format(scan);
    refusal = KnownClasses.refusal(node);
    index = scan.fileIndex();
    partitionFilters = scan.partitionFilters();
    isPrunedAsItRuns = false;
    dataFilters = scan.dataFilters();
  }

  /**
   * Returns the scan of a plan node, or null if it scans no files.
   *
   * @param isCached whether the node is in the plan of a cached relation
   * @param above the condition of a filter on the rows of the scan, or null
   */
  static PhysicalScan of(SparkPlan plan, boolean isCached, Expression above) {
    if (plan instanceof FileSourceScanExec) {
      return new PhysicalScan((FileSourceScanExec) plan, isCached, above);
    }
    boolean isFileScan =
        plan instanceof BatchScanExec
            && KnownClasses.fileScan(((BatchScanExec) plan).scan()) != null;
    return isFileScan ? new PhysicalScan((BatchScanExec) plan, isCached) : null;
  }

  /**
   * Returns whether the scan reads the lines of files as Spark does to infer the schema of CSV,
   * JSON and XML. Scans of streams of text look alike.
   */
  boolean isOfLines() {
    if (!(node instanceof FileSourceScanExec)) {
      return false;
    }
    HadoopFsRelation relation = ((FileSourceScanExec) node).relation();
    Option<String> option = relation.options().get(GLOB_PATHS);
    return relation.fileFormat() instanceof TextFileFormat
        && !option.isEmpty()
        && "false".equals(option.get());
  }

  String format() {
    return format;
  }

  /** Returns whether the relation of this scan has an index. */
  boolean isIndexed() {
    return index instanceof SkippingIndex;
  }

  /** Returns what the rule does not know in this scan, or an empty text. */
  String refusal() {
    return isIndexed() ? "" : refusal;
  }

  /**
   * Returns the first root path of the relation, or an empty text if partition pruning has left no
   * partition of a table.
   */
  String rootPath() {
    return index.rootPaths().isEmpty() ? "" : index.rootPaths().head().toString();
  }

  /** Returns the name of the scan's table, or an empty text. */
  String table() {
    return table;
  }

  /** Returns whether Spark selects files by filters on partition columns. */
  boolean isPartitionFiltered() {
    return isPrunedAsItRuns || !partitionFilters.isEmpty();
  }

  /** Returns how many files were left to the scan while the query ran, or -1 if all were. */
  long filesRead() {
    return isPrunedAsItRuns || filteredHolder() != null ? sizes()[0] : -1;
  }

  /** Returns the scan of the second API if runtime filters have left some of its files, or null. */
  private FileScanHolder filteredHolder() {
    Object scan = node instanceof BatchScanExec ? ((BatchScanExec) node).scan() : null;
    return scan instanceof FileScanHolder && ((FileScanHolder) scan).filteredScan() != null
        ? (FileScanHolder) scan
        : null;
  }

  /** Returns the names of the rewrites that left out files while the query ran. */
  Set<String> runtimeRewrites() {
    Set<String> names = new TreeSet<>();
    FileScanHolder filtered = filteredHolder();
    if (filtered != null) {
      names.add(filtered.rewrite());
    }
    if (isPrunedAsItRuns) {
      for (Expression filter : Scala.list(((FileSourceScanExec) node).partitionFilters())) {
        for (Object value : ExpressionTree.constants(filter)) {
          if (value instanceof RuntimePruning && ((RuntimePruning) value).isUsed()) {
            names.add(((RuntimePruning) value).rewrite());
          }
        }
      }
    }
    return names;
  }

  /** Returns the records of the latest listing, or null if the scan has no index or no listing. */
  List<ScanRecord> records() {
    return isIndexed() ? context().latest() : null;
  }

  /** Returns whether a rewrite has left out files of the latest listing. */
  boolean hasRewrite() {
    List<ScanRecord> records = records();
    return records != null && !records.isEmpty() && ((ScanRecord) records.get(0)).hasRewrite();
  }

  /** Returns whether another scan reads the same relation of the query. */
  boolean isOfRelation(PhysicalScan other) {
    return isIndexed() && other.isIndexed() && context() == other.context();
  }

  private ScanContext context() {
    return ((SkippingIndex) index).context();
  }

  /**
   * Returns whether an execution listed the files of this scan. Spark does not read the files of
   * relations that it has cached, or of scans whose result it does not need.
   */
  boolean isListedBy(String execution) {
    if (!isIndexed()) {
      return !isCached;
    }
    List<ScanRecord> records = records();
    if (records == null || !isCached) {
      return records != null;
    }
    return !records.isEmpty() && ((ScanRecord) records.get(0)).query().equals(execution);
  }

  /** Returns the records of requests whose answers have not decided the latest listing. */
  List<ScanRecord> questions() {
    return isIndexed() ? context().questions() : Collections.<ScanRecord>emptyList();
  }

  /** Returns whether the scan has listed its files to read them, or its index was asked. */
  boolean hasRun() {
    if (metric("numOutputRows") > 0 || metric("numFiles") > 0) {
      return true;
    }
    List<ScanRecord> records = records(); // empty after an explanation without a filter
    return records != null && !records.isEmpty();
  }

  /** Returns how many files the scan reads, and their bytes, from Spark's metrics if it ran. */
  long[] sizes() {
    long files = metric("numFiles");
    if (files < 0) {
      FileScanHolder filtered = filteredHolder();
      return filtered == null
          ? listedSizes()
          : sizes(listFiles(filtered.filteredScan().fileIndex()));
    }
    if (files == 0) {
      // Spark sets the metric in the first execution of a plan only, and resets it before the next.
      long[] selected = SparkCompat.selectedSizes((FileSourceScanExec) node);
      if (selected != null) {
        return selected;
      }
    }
    return new long[] {files, Math.max(0, metric("filesSize"))};
  }

  /** Lists the files that the scan reads, and returns how many they are, and their bytes. */
  long[] listedSizes() {
    return sizes(listFiles());
  }

  private static long[] sizes(Seq<PartitionDirectory> listing) {
    long files = 0;
    long bytes = 0;
    scala.collection.Iterator<PartitionDirectory> directories = listing.iterator();
    while (directories.hasNext()) {
      scala.collection.Iterator<FileStatusWithMetadata> statuses =
          ((PartitionDirectory) directories.next()).files().iterator();
      while (statuses.hasNext()) {
        files++;
        bytes += ((FileStatusWithMetadata) statuses.next()).fileStatus().getLen();
      }
    }
    return new long[] {files, bytes};
  }

  private long metric(String name) {
    Option<SQLMetric> metric = node.metrics().get(name);
    return metric.isEmpty() ? -1 : SparkCompat.value((SQLMetric) metric.get());
  }

  /** Adds metrics of the scan's index to a node of an execution that is about to be announced. */
  void addMetrics(String execution) throws Exception {
    if (isIndexed()) {
      context().metrics().addTo(node, execution, isCached ? null : records());
    }
  }

  /**
   * Counts the listing of an explanation, the first time that an execution reads its files. Spark
   * does not list the files of a planned scan of the second data source API again.
   */
  void countExplained() {
    List<ScanRecord> records = records();
    if (records != null && context().markCounted()) {
      ScanLog.addUsed(context().questions());
      ScanLog.addUsed(records);
      for (ScanRecord record : records) {
        record.addToCounters();
      }
    }
  }

  /** Returns whether a filter on the files of the scan contains a test. */
  boolean hasTest(Object test) {
    return node instanceof FileSourceScanExec && filterWith(test) != null;
  }

  /** Returns the keys in the filter that contains a test of files, or null. */
  Object[] joinKeys(Object test) {
    for (Expression each : ExpressionTree.nodes(filterWith(test))) {
      if (each instanceof InSubqueryExec && ((InSubqueryExec) each).values().isDefined()) {
        return (Object[]) ((InSubqueryExec) each).values().get();
      }
    }
    return null;
  }

  private Expression filterWith(Object test) {
    for (Expression filter : Scala.list(((FileSourceScanExec) node).partitionFilters())) {
      for (Object value : ExpressionTree.constants(filter)) {
        if (value == test) {
          return filter;
        }
      }
    }
    return null;
  }

  /** Returns the conditions on rows with scalar subqueries, by their values; null without them. */
  List<Expression> conditionsOfSubqueries() {
    List<Expression> conditions = new ArrayList<>();
    for (Expression filter : Scala.list(dataFilters)) {
      addKnown(filter, conditions);
    }
    if (conditions.isEmpty() && above != null) { // before Spark 4, scans do not get subqueries
      addKnown(above, conditions);
    }
    return conditions.isEmpty() ? null : conditions;
  }

  /** Adds the conjuncts of a condition that contain scalar subqueries, with their values. */
  private static void addKnown(Expression condition, List<Expression> conditions) {
    for (Expression conjunct : ExpressionTree.conjuncts(condition)) {
      if (Subqueries.isIn(conjunct)) {
        Expression known = (Expression) conjunct.transformUp(new SubqueryLiterals());
        if (!Subqueries.isIn(known)) {
          conditions.add(known);
        }
      }
    }
  }

  /**
   * Returns the filters of a scan without an index, which an index could answer, as JSON; an empty
   * text if there are none or the rule does not know the scan.
   */
  String filtersWithoutIndex() {
    boolean isOfUse = !isIndexed() && refusal.isEmpty() && !dataFilters.isEmpty();
    return isOfUse ? FilterText.of(dataFilters, node.conf()) : "";
  }

  /** Returns the files that the scan reads, before dynamic partition pruning. */
  Seq<PartitionDirectory> listFiles() {
    return listFiles(index);
  }

  private Seq<PartitionDirectory> listFiles(FileIndex index) {
    return SparkCompat.listFiles(index, partitionFilters, dataFilters);
  }

  /** Makes the next listing ask the indexes. */
  void forgetListing() {
    if (isIndexed()) {
      ((SkippingIndex) index).forgetListing();
    }
  }
}
