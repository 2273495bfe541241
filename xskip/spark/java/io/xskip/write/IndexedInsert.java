package io.xskip.write;

import io.xskip.common.Failures;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.BasicWriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's command that writes files, with statistics for the index of the dataset. Only Janino
 * compiles it.
 */
public final class IndexedInsert extends InsertIntoHadoopFsRelationCommand {
  /** Creates a command, which collects statistics if its path is an {@link IndexedPath}. */
  public IndexedInsert(
      Path outputPath,
      Map<String, String> staticPartitions,
      boolean ifPartitionNotExists,
      Seq<Attribute> partitionColumns,
      Option<BucketSpec> bucketSpec,
      FileFormat fileFormat,
      Map<String, String> options,
      LogicalPlan query,
      SaveMode mode,
      Option<CatalogTable> catalogTable,
      Option<FileIndex> fileIndex,
      Seq<String> outputColumnNames) {
    super(
        outputPath,
        staticPartitions,
        ifPartitionNotExists,
        partitionColumns,
        bucketSpec,
        fileFormat,
        options,
        query,
        mode,
        catalogTable,
        fileIndex,
        outputColumnNames);
  }

  @Override
  public BasicWriteJobStatsTracker basicWriteJobStatsTracker(Configuration conf) {
    if (!(outputPath() instanceof IndexedPath)) {
      return super.basicWriteJobStatsTracker(conf);
    }
    try {
      return new StatisticsTracker(
          new SerializableConfiguration(conf), metrics(), (IndexedPath) outputPath());
    } catch (Throwable t) {
      Failures.logWrite(t);
      return super.basicWriteJobStatsTracker(conf);
    }
  }

  // Spark copies a command whose query changes.
  @Override
  public InsertIntoHadoopFsRelationCommand withNewChildInternal(LogicalPlan query) {
    return IndexedWrites.indexed(super.withNewChildInternal(query), outputPath());
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof IndexedInsert;
  }

  // plans show the name of Spark's command
  @Override
  public String nodeName() {
    return InsertIntoHadoopFsRelationCommand.class.getSimpleName();
  }
}
