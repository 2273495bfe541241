package io.xskip.rewrite;

import io.xskip.catalyst.BlockPositions;
import io.xskip.catalyst.ExpressionTree;
import io.xskip.common.SkippingSettings;
import io.xskip.location.IndexDiscovery;
import io.xskip.location.IndexLocation;
import io.xskip.read.HookFormat;
import io.xskip.read.ReadProfile;
import io.xskip.scan.ListingPreview;
import io.xskip.scan.ScanContext;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.types.StructType;

/** Gives a skipping file index to relations that have indexes. */
final class IndexedRelations {
  private final SkippingSettings settings;

  /** The locations of the indexes of each file index, so that copies of a relation stay equal. */
  private final Map<FileIndex, List<IndexLocation>> locations = new IdentityHashMap<>();

  /** The whole plan until it is known whether it shows which ranges its tasks read, then null. */
  private LogicalPlan unseen = null;

  IndexedRelations(SkippingSettings settings) {
    this.settings = settings;
  }

  /** Sets the whole plan, before its relations get file indexes. */
  void setPlan(LogicalPlan plan) {
    unseen = plan;
  }

  /** Lets the scans of the plan read whole files if the plan shows ranges. */
  private void checkRanges() {
    if (unseen != null && settings.ranges && BlockPositions.areShown(unseen)) {
      settings.ranges = false;
    }
    unseen = null;
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

  /**
   * Returns a scan of the second data source API with a skipping file index, if it has an index.
   */
  LogicalPlan withIndex(DataSourceV2ScanRelation relation) throws Exception {
    List<IndexLocation> locations = locations(((FileScan) relation.scan()).fileIndex(), null);
    if (locations.isEmpty()) {
      return relation;
    }
    checkRanges();
    return FileScanBuilder.rewrite(relation, locations, settings);
  }

  /**
   * Returns a relation with a skipping file index, or the relation itself if it has no index. The
   * condition is that of the Filter above the relation, or null; further ones have Python
   * functions.
   */
  LogicalPlan withIndex(LogicalRelation logical, Expression filter, List<Expression> conditions)
      throws Exception {
    HadoopFsRelation relation = (HadoopFsRelation) logical.relation();
    CatalogTable table = (CatalogTable) Scala.orNull(logical.catalogTable());
    List<IndexLocation> locations = locations(relation.location(), table);
    if (locations.isEmpty()) {
      return logical;
    }
    checkRanges();
    ScanContext context = new ScanContext(settings, locations, ReadProfile.of(relation));
    if (filter != null) {
      addMixed(filter, relation.partitionSchema(), context);
    }
    for (Expression condition : conditions) {
      context.addCondition(condition);
    }
    boolean isOfHook = relation.fileFormat() instanceof HookFormat;
    if (isOfHook || !relation.bucketSpec().isEmpty()) {
      boolean hasRanges = isOfHook && ((HookFormat) relation.fileFormat()).hasRanges();
      context.setRanges(hasRanges && relation.bucketSpec().isEmpty());
    }
    if (context.takesRanges()) {
      SessionStrategies.addRangedScans(settings.session);
    }
    boolean isSized = settings.statistics && !isPrunedByJoin(filter);
    CatalogSize size = isSized ? CatalogSize.of(table, context.conf()) : CatalogSize.NONE;
    HadoopFsRelation rewritten =
        SparkCompat.withIndex(
            relation,
            new SkippingFileIndex(relation.location(), context, isSized, size.bytes()),
            relation.partitionSchema());
    LogicalPlan result = (LogicalPlan) SparkCompat.exchange(logical, relation, rewritten);
    if (size != CatalogSize.NONE) {
      result = size.remove((LogicalRelation) result);
    }
    LogicalPlan filtered = filter == null ? result : new Filter(filter, result);
    context.setPreview(
        new ListingPreview.OfRelation(
            context, relation.location(), filtered, relation.sparkSession()));
    return result;
  }

  /**
   * Returns whether the other side of a join prunes partitions, which Spark does only if it
   * broadcasts that side: the relation must not seem to be the smaller one.
   */
  private static boolean isPrunedByJoin(Expression filter) {
    return filter != null && filter.containsPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY());
  }

  /** Adds the conjuncts that refer to both partition columns and other columns. */
  private static void addMixed(
      Expression condition, StructType partitionSchema, ScanContext context) {
    for (Expression conjunct : ExpressionTree.conjuncts(condition)) {
      if (isMixed(conjunct, partitionSchema)) {
        context.addCondition(conjunct);
      }
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
}
