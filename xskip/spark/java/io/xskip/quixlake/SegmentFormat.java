package io.xskip.quixlake;

import io.xskip.read.HookFormat;
import io.xskip.shims.SparkCompat;
import java.io.Serializable;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Spark's file format of the segments of a Quix Lake: Avro files whose records are messages. */
public final class SegmentFormat
    implements FileFormat, HookFormat, DataSourceRegister, Serializable {
  private static final long serialVersionUID = 1L;

  private static final String IGNORE = "ignoreCorruptFiles";

  private final Map<String, Long> partitions;
  private final boolean isDistinct; // only the first message with an offset of a partition counts

  /**
   * Creates a format; {@code partitions} has the Kafka partitions of segments whose names do not
   * tell them, by path.
   */
  public SegmentFormat(Map<String, Long> partitions, boolean isDistinct) {
    this.partitions = partitions;
    this.isDistinct = isDistinct;
  }

  @Override
  public String shortName() {
    return "quixlake";
  }

  @Override
  public String toString() {
    return shortName();
  }

  @Override
  public boolean hasRanges() {
    return !isDistinct; // the first message of an offset can be in another range than the others
  }

  @Override
  public Option<StructType> inferSchema(
      SparkSession session,
      scala.collection.immutable.Map<String, String> options,
      Seq<FileStatus> files) {
    return Option.apply(SegmentSchema.COLUMNS);
  }

  @Override
  public OutputWriterFactory prepareWrite(
      SparkSession session,
      Job job,
      scala.collection.immutable.Map<String, String> options,
      StructType schema) {
    throw new UnsupportedOperationException("Spark's writers cannot write to a Quix Lake");
  }

  @Override
  public boolean isSplitable(
      SparkSession session, scala.collection.immutable.Map<String, String> options, Path path) {
    return hasRanges();
  }

  @Override
  @SuppressWarnings("unchecked")
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
      SparkSession session,
      StructType dataSchema,
      StructType partitionSchema,
      StructType requiredSchema,
      Seq<Filter> filters,
      scala.collection.immutable.Map<String, String> options,
      Configuration hadoopConf) {
    ClassTag<SerializableConfiguration> tag =
        (ClassTag<SerializableConfiguration>)
            (Object) ClassTag$.MODULE$.apply(SerializableConfiguration.class);
    Broadcast<SerializableConfiguration> conf =
        SparkCompat.context().broadcast(new SerializableConfiguration(hadoopConf), tag);
    boolean canIgnore = canIgnore(session, options);
    Object reader =
        new SegmentReader(requiredSchema.fieldNames(), partitions, isDistinct, canIgnore, conf);
    return (Function1<PartitionedFile, Iterator<InternalRow>>) reader;
  }

  // whether Spark leaves out segments that cannot be read
  private static boolean canIgnore(
      SparkSession session, scala.collection.immutable.Map<String, String> options) {
    Option<String> given = options.get(IGNORE);
    if (!given.isEmpty()) {
      return Boolean.parseBoolean((String) given.get());
    }
    try {
      return SparkCompat.state(session).conf().ignoreCorruptFiles();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SegmentFormat
        && ((SegmentFormat) other).partitions.equals(partitions)
        && ((SegmentFormat) other).isDistinct == isDistinct;
  }

  @Override
  public int hashCode() {
    return partitions.size();
  }
}
