package io.xskip.tasks;

import io.xskip.common.Failures;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.collection.BitSet;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * A scan of files that reads only their ranges. Its constructor is that of Spark's scan, with which
 * Spark copies nodes. {@code xskip.spark.bridge.compiler} leaves out the lines that end with a
 * later version than Spark's, and adds what follows a version.
 */
public final class RangedScan extends FileSourceScanExec {
  private boolean isCut = false;

  /** Creates a scan. */
  public RangedScan(
      HadoopFsRelation relation,
      Option<SparkDataStream> stream, // Spark 4.0
      Seq<Attribute> output,
      StructType requiredSchema,
      Seq<Expression> partitionFilters,
      Option<BitSet> optionalBucketSet,
      Option<Object> optionalNumCoalescedBuckets,
      Seq<Expression> dataFilters,
      Option<TableIdentifier> tableIdentifier,
      boolean disableBucketedScan // Spark 4.3: , boolean markedForSingleTaskExecution
      ) {
    super(
        relation,
        stream, // Spark 4.0
        output,
        requiredSchema,
        partitionFilters,
        optionalBucketSet,
        optionalNumCoalescedBuckets,
        dataFilters,
        tableIdentifier,
        disableBucketedScan // Spark 4.3: , markedForSingleTaskExecution
        );
  }

  /**
   * Returns the scan of ranges in place of a scan of Spark, or that scan if this Spark has another
   * constructor.
   */
  public static FileSourceScanExec of(FileSourceScanExec scan) throws Exception {
    Object ranged = SparkCompat.newInstance(RangedScan.class, SparkCompat.elements(scan));
    return ranged == null ? scan : (FileSourceScanExec) ranged;
  }

  /** Returns the rows; after an error, those of whole files. */
  @Override
  public RDD<InternalRow> inputRDD() {
    Object before = RangedFiles.begin();
    RDD<InternalRow> rows;
    try {
      rows = super.inputRDD();
    } finally {
      RangedFiles.end(before);
    }
    synchronized (this) {
      if (!isCut) {
        isCut = true;
        cut(rows);
      }
    }
    return rows;
  }

  private void cut(RDD<InternalRow> rows) {
    try {
      // the number of tasks can be what Spark has planned by
      if (outputPartitioning() instanceof UnknownPartitioning && !showsRanges()) {
        RangedTasks.cut(rows, conf());
      }
    } catch (Throwable t) {
      Failures.logFailure("the ranges of files", t);
    }
  }

  /** Returns whether the query shows which ranges its tasks read. */
  private boolean showsRanges() {
    for (AttributeReference column : Scala.list(fileConstantMetadataColumns())) {
      if (column.name().startsWith("file_block_")) {
        return true;
      }
    }
    return false;
  }

  /** Returns Spark's own scan, because executors get plans and lack this class. */
  public Object writeReplace() throws Exception {
    return SparkCompat.newInstance(FileSourceScanExec.class, SparkCompat.elements(this));
  }

  // Spark keeps a node that equals the one by which it is replaced.
  @Override
  public boolean canEqual(Object other) {
    return other instanceof RangedScan;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RangedScan && super.equals(other);
  }

  @Override
  public int hashCode() {
    return super.hashCode();
  }
}
