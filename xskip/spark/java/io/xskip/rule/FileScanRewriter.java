package io.xskip.rule;

import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import io.xskip.location.IndexLocation;
import io.xskip.read.KnownClasses;
import io.xskip.read.ReadProfile;
import io.xskip.scan.ListingPreview;
import io.xskip.scan.ScanContext;
import java.lang.reflect.Constructor;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Product;

/**
 * Gives a skipping file index to the scans of the second data source API. The classes of the scans
 * have no common constructor, but all of them are case classes.
 */
final class FileScanRewriter {
  private FileScanRewriter() {}

  /**
   * Returns a scan with a skipping file index, or the scan itself if this version of Spark has
   * another constructor.
   */
  static LogicalPlan rewrite(
      DataSourceV2ScanRelation relation, List<IndexLocation> locations, SkippingSettings settings)
      throws Exception {
    FileScan scan = (FileScan) relation.scan();
    PartitioningAwareFileIndex index = scan.fileIndex();
    Object[] arguments = elements((Product) scan);
    SparkSession session = null;
    CaseInsensitiveStringMap options = null;
    StructType schema = null;
    for (Object argument : arguments) {
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
    replace(arguments, index, new SkippingV2FileIndex(session, index, context));
    Object rewritten = newInstance(scan.getClass(), arguments);
    return rewritten == null
        ? relation
        : (LogicalPlan) SparkCompat.exchange(relation, scan, rewritten);
  }

  private static Object[] elements(Product product) {
    Object[] elements = new Object[product.productArity()];
    for (int i = 0; i < elements.length; i++) {
      elements[i] = product.productElement(i);
    }
    return elements;
  }

  private static void replace(Object[] arguments, Object target, Object replacement) {
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i] == target) {
        arguments[i] = replacement;
      }
    }
  }

  /** Calls the constructor that takes as many arguments, or returns null if there is none. */
  private static Object newInstance(Class<?> type, Object[] arguments) throws Exception {
    for (Constructor<?> constructor : type.getConstructors()) {
      if (constructor.getParameterCount() == arguments.length) {
        return constructor.newInstance(arguments);
      }
    }
    return null;
  }
}
