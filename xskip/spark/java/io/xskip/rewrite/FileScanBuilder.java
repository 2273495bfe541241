package io.xskip.rewrite;

import io.xskip.common.SkippingSettings;
import io.xskip.location.IndexLocation;
import io.xskip.read.KnownClasses;
import io.xskip.read.ReadProfile;
import io.xskip.scan.ListingPreview;
import io.xskip.scan.ScanContext;
import io.xskip.shims.SparkCompat;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Product;

/**
 * Gives a skipping file index to the scans of the second data source API: case classes without a
 * common constructor.
 */
final class FileScanBuilder {
  private FileScanBuilder() {}

  /**
   * Returns a scan with a skipping file index, or the scan itself if this Spark has another
   * constructor.
   */
  static LogicalPlan rewrite(
      DataSourceV2ScanRelation relation, List<IndexLocation> locations, SkippingSettings settings)
      throws Exception {
    FileScan scan = (FileScan) relation.scan();
    PartitioningAwareFileIndex index = scan.fileIndex();
    SparkSession session = null;
    CaseInsensitiveStringMap options = null;
    StructType schema = null;
    Product product = (Product) scan;
    for (int i = 0; i < product.productArity(); i++) {
      Object argument = product.productElement(i);
      if (argument instanceof SparkSession) {
        session = (SparkSession) argument;
      } else if (argument instanceof CaseInsensitiveStringMap) {
        options = (CaseInsensitiveStringMap) argument;
      } else if (argument instanceof StructType && schema == null) {
        schema = (StructType) argument; // the first schema of a scan is the data schema
      }
    }
    ReadProfile profile =
        new ReadProfile(
            KnownClasses.format(scan), options, schema, index.partitionSchema(), session);
    ScanContext context = new ScanContext(settings, locations, profile);
    context.setPreview(new ListingPreview.OfScan(context, scan));
    return withIndex(
        relation, new SkippingV2FileIndex(session, index, context, settings.statistics));
  }

  /**
   * Returns a relation with another file index, or the relation itself if this Spark has another
   * constructor of its scan.
   */
  static LogicalPlan withIndex(DataSourceV2ScanRelation relation, FileIndex index)
      throws Exception {
    FileScan scan = (FileScan) relation.scan();
    FileScan rewritten = withIndex(scan, index);
    return rewritten == null
        ? relation
        : (LogicalPlan) SparkCompat.exchange(relation, scan, rewritten);
  }

  /** Returns a scan with another file index, or null if this Spark has another constructor. */
  private static FileScan withIndex(FileScan scan, FileIndex index) throws Exception {
    Object[] elements = SparkCompat.elements((Product) scan, scan.fileIndex(), index);
    return (FileScan) SparkCompat.newInstance(scan.getClass(), elements);
  }

  /**
   * Returns a scan of the files that conditions leave, or null if this Spark has another
   * constructor.
   *
   * @param conditions conditions that each matching row satisfies, or null if no row matches
   * @param rewrite the name of the rewrite that knows the conditions
   */
  static FileScan withConditions(FileScan scan, List<Expression> conditions, String rewrite)
      throws Exception {
    SkippingV2FileIndex index = (SkippingV2FileIndex) scan.fileIndex();
    return withIndex(scan, index.filtering(conditions, rewrite));
  }
}
