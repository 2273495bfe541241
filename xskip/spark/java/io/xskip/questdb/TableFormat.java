package io.xskip.questdb;

import io.xskip.read.HookFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** Spark's file format of the pieces of a table. */
public final class TableFormat implements FileFormat, HookFormat, DataSourceRegister {
  private static final String RETURNING_BATCH = "returning_batch";

  private final TableState state;

  TableFormat(TableState state) {
    this.state = state;
  }

  @Override
  public boolean hasRanges() {
    return false;
  }

  @Override
  public String shortName() {
    return "questdb";
  }

  @Override
  public String toString() {
    return "questdb, transaction " + state.latest().snapshot.txn;
  }

  @Override
  public Option<StructType> inferSchema(
      SparkSession session, Map<String, String> options, Seq<FileStatus> files) {
    return Option.apply(state.latest().schema);
  }

  @Override
  public OutputWriterFactory prepareWrite(
      SparkSession session, Job job, Map<String, String> options, StructType schema) {
    throw new UnsupportedOperationException("Spark cannot write to a table of QuestDB on disk");
  }

  @Override
  public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
    return !path.getName().endsWith(".parquet");
  }

  @Override
  public boolean supportBatch(SparkSession session, StructType schema) {
    return true;
  }

  @Override
  @SuppressWarnings("unchecked")
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
      SparkSession session,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq<Filter> filters,
      Map<String, String> options,
      Configuration hadoopConf) {
    TableColumn timestamp = state.latest().snapshot.timestamp;
    ScanFilters all = new ScanFilters(filters, timestamp == null ? null : timestamp.name);
    Option<String> returning = options.get(RETURNING_BATCH);
    boolean hasBatches = !returning.isEmpty() && "true".equals(returning.get());
    Object reader = new PieceReader(requiredSchema, partitionSchema, all, hasBatches);
    return (Function1<PartitionedFile, Iterator<InternalRow>>) reader;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableFormat && ((TableFormat) other).state.equals(state);
  }

  @Override
  public int hashCode() {
    return state.hashCode();
  }
}
