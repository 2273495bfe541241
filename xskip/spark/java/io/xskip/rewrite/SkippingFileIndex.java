package io.xskip.rewrite;

import io.xskip.observe.PlanText;
import io.xskip.scan.FileSelection;
import io.xskip.scan.NumberedListing;
import io.xskip.scan.ScanContext;
import io.xskip.scan.ScanListing;
import io.xskip.scan.SkippingIndex;
import io.xskip.shims.SimpleFileIndex;
import io.xskip.shims.SparkCompat;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The file index of an indexed V1 relation, whose listing lacks the files that the indexes rule
 * out.
 */
final class SkippingFileIndex extends SimpleFileIndex implements SkippingIndex {
  private final FileIndex delegate;
  private final ScanContext context;
  private final ScanListing listing;

  /** The numbers of the files, if joins leave out files while the query runs; otherwise null. */
  private final NumberedListing numbers;

  SkippingFileIndex(FileIndex delegate, ScanContext context, boolean isSized, long fullSize) {
    this(delegate, context, new ScanListing(context, delegate, isSized, fullSize, false), null);
  }

  private SkippingFileIndex(
      FileIndex delegate, ScanContext context, ScanListing listing, NumberedListing numbers) {
    this.delegate = delegate;
    this.context = context;
    this.listing = listing;
    this.numbers = numbers;
  }

  /** Returns an index of the files of a selection. */
  SkippingFileIndex selecting(FileSelection selection) {
    return new SkippingFileIndex(delegate, context, listing.selecting(selection), numbers);
  }

  /** Returns an index that numbers its files. */
  SkippingFileIndex numbering() {
    NumberedListing numbered = new NumberedListing(context, delegate.partitionSchema());
    return new SkippingFileIndex(delegate, context, listing, numbered);
  }

  /** Returns the numbers of the files, or null if the index numbers none. */
  NumberedListing numbers() {
    return numbers;
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
  public void forgetListing() {
    listing.forget();
  }

  @Override
  public Seq<Path> rootPaths() {
    return PlanText.rootPaths(delegate.rootPaths(), context, listing.selection());
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    if (numbers == null) {
      return listing.files(partitionFilters, dataFilters);
    }
    Seq<Expression> others = NumberedListing.without(partitionFilters);
    Seq<PartitionDirectory> files = listing.files(others, dataFilters);
    // Spark evaluates filters with a subquery itself, and passes only those whose subquery is gone
    boolean hasKeys = others.length() == partitionFilters.length();
    return hasKeys ? numbers.number(files) : numbers.withoutNumbers(files);
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
  public long sizeInBytes() {
    return listing.sizeInBytes();
  }

  @Override
  public StructType partitionSchema() {
    return numbers == null ? delegate.partitionSchema() : numbers.numberedSchema();
  }

  @Override
  public Option<Object> metadataOpsTimeNs() {
    return delegate.metadataOpsTimeNs();
  }

  @Override
  public boolean isTimeTravel() {
    return SparkCompat.isTimeTravel(delegate);
  }

  // The reuse of exchanges and of cached plans compares the relations of canonicalized scans.
  @Override
  public boolean equals(Object other) {
    return other instanceof SkippingFileIndex
        && ((SkippingFileIndex) other).delegate.equals(delegate)
        && ((SkippingFileIndex) other).context.conditions().equals(context.conditions())
        && listing.selectsAs(((SkippingFileIndex) other).listing)
        && (numbers == null) == (((SkippingFileIndex) other).numbers == null);
  }

  @Override
  public int hashCode() {
    return delegate.hashCode() * 31 + 7;
  }

  @Override
  public String toString() {
    return "SkippingFileIndex(" + delegate + ")";
  }
}
