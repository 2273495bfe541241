package io.xskip.rewrite;

import io.xskip.common.Failures;
import io.xskip.read.FileScanHolder;
import io.xskip.shims.SparkCompat;
import io.xskip.tasks.RangedFiles;
import io.xskip.tasks.RangedTasks;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.internal.connector.SupportsMetadata;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;

/**
 * A scan of files of the second data source API that reads them by a scan of Spark, and only the
 * ranges of files that can hold a matching row [PLN-RG-3].
 */
abstract class DelegatingFileScan
    implements Scan, Batch, SupportsReportStatistics, SupportsMetadata, FileScanHolder {
  private final FileScan scan;

  DelegatingFileScan(FileScan scan) {
    this.scan = scan;
  }

  @Override
  public FileScan fileScan() {
    return scan;
  }

  /** Returns the scan by which the files are read. */
  protected FileScan current() {
    return scan;
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    Object before = RangedFiles.begin();
    InputPartition[] tasks;
    try {
      tasks = current().planInputPartitions();
    } finally {
      RangedFiles.end(before);
    }
    try {
      return RangedTasks.cut(tasks, SparkCompat.conf(scan.sparkSession()));
    } catch (Throwable t) { // whole files are read then
      Failures.logFailure("the ranges of files", t);
      return tasks;
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return scan.createReaderFactory();
  }

  @Override
  public Statistics estimateStatistics() {
    return scan.estimateStatistics();
  }

  @Override
  public StructType readSchema() {
    return scan.readSchema();
  }

  @Override
  public String description() {
    return scan.description();
  }

  @Override
  public Map<String, String> getMetaData() {
    return scan.getMetaData();
  }

  @Override
  public Scan.ColumnarSupportMode columnarSupportMode() {
    return scan.columnarSupportMode();
  }

  @Override
  public CustomMetric[] supportedCustomMetrics() {
    return scan.supportedCustomMetrics();
  }

  @Override
  public CustomTaskMetric[] reportDriverMetrics() {
    return scan.reportDriverMetrics();
  }

  // Equal scans of a plan can share what they read; the filters are in the plan, too.
  @Override
  public boolean equals(Object other) {
    return other != null
        && other.getClass() == getClass()
        && ((DelegatingFileScan) other).scan.equals(scan);
  }

  @Override
  public int hashCode() {
    return scan.hashCode() * 31 + 11;
  }

  @Override
  public String toString() {
    return getClass().getSimpleName() + "(" + scan + ")";
  }
}
