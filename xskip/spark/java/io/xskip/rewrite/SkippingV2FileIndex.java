package io.xskip.rewrite;

import io.xskip.observe.PlanText;
import io.xskip.scan.FileSelection;
import io.xskip.scan.RuntimeListing;
import io.xskip.scan.ScanContext;
import io.xskip.scan.ScanListing;
import io.xskip.scan.SkippingIndex;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.LinkedHashMap;

/**
 * The file index of an indexed V2 scan. FileScan requires a PartitioningAwareFileIndex, whose state
 * is not used.
 */
final class SkippingV2FileIndex extends PartitioningAwareFileIndex implements SkippingIndex {
  private final SparkSession session;
  private final PartitioningAwareFileIndex delegate;
  private final ScanContext context;

  // Spark lists the files of a V2 scan more than once for each plan, and each optimized plan has
  // its own instance of this class.
  private final ScanListing listing;

  /** The files that conditions leave which are known only while the query runs, or null for all. */
  private final RuntimeListing filtered;

  SkippingV2FileIndex(
      SparkSession session,
      PartitioningAwareFileIndex delegate,
      ScanContext context,
      boolean isSized) {
    this(session, delegate, context, new ScanListing(context, delegate, isSized, -1, true), null);
  }

  private SkippingV2FileIndex(
      SparkSession session,
      PartitioningAwareFileIndex delegate,
      ScanContext context,
      ScanListing listing,
      RuntimeListing filtered) {
    super(session, Map$.MODULE$.<String, String>empty(), Option.empty(), NoopCache$.MODULE$);
    this.delegate = delegate;
    this.context = context;
    this.session = session;
    this.listing = listing;
    this.filtered = filtered;
  }

  /** Returns an index of the files of a selection. */
  SkippingV2FileIndex selecting(FileSelection selection) {
    return new SkippingV2FileIndex(session, delegate, context, listing.selecting(selection), null);
  }

  /**
   * Returns an index of the files that conditions leave while the query runs.
   *
   * @param conditions conditions that each matching row satisfies, or null if no row matches
   * @param rewrite the name of the rewrite that knows the conditions
   */
  SkippingV2FileIndex filtering(List<Expression> conditions, String rewrite) {
    return new SkippingV2FileIndex(
        session,
        delegate,
        context,
        listing,
        new RuntimeListing(context, partitionSchema(), conditions, rewrite));
  }

  @Override
  public FileIndex delegate() {
    return delegate;
  }

  @Override
  public ScanListing listing() {
    return listing;
  }

  @Override
  public ScanContext context() {
    return context;
  }

  @Override
  public PartitionSpec partitionSpec() {
    return delegate.partitionSpec();
  }

  @Override
  public StructType partitionSchema() {
    return delegate.partitionSchema();
  }

  @Override
  public LinkedHashMap<Path, FileStatus> leafFiles() {
    return delegate.leafFiles();
  }

  @Override
  public Map<Path, FileStatus[]> leafDirToChildrenFiles() {
    return delegate.leafDirToChildrenFiles();
  }

  @Override
  public Seq<Path> rootPaths() {
    return PlanText.rootPaths(delegate.rootPaths(), context, listing.selection());
  }

  @Override
  public Seq<FileStatus> allFiles() {
    return delegate.allFiles();
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    Seq<PartitionDirectory> files = listing.files(partitionFilters, dataFilters);
    return filtered == null ? files : filtered.files(files);
  }

  @Override
  public String[] inputFiles() {
    return delegate.inputFiles();
  }

  @Override
  public void refresh() {
    listing.forget();
    delegate.refresh();
  }

  @Override
  public void forgetListing() {
    listing.forget();
  }

  @Override
  public long sizeInBytes() {
    return listing.sizeInBytes();
  }

  @Override
  public Option<Object> metadataOpsTimeNs() {
    return delegate.metadataOpsTimeNs();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SkippingV2FileIndex
        && ((SkippingV2FileIndex) other).delegate.equals(delegate)
        && listing.selectsAs(((SkippingV2FileIndex) other).listing);
  }

  @Override
  public int hashCode() {
    return delegate.hashCode() * 31 + 7;
  }

  @Override
  public String toString() {
    return "SkippingV2FileIndex(" + delegate + ")";
  }
}
