package io.xskip.quixlake;

import io.xskip.common.Paths;
import io.xskip.shims.DataFrames;
import io.xskip.shims.SparkCompat;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;

/** The job that writes the messages of a batch into segments that no reader sees. */
public final class SegmentJob {
  // the columns of a segment: its folder below that of the topic, its hidden and its final name,
  // what its descriptor claims, and its upload, which has no hidden name
  private static final String SCHEMA =
      "folder STRING, hidden STRING, name STRING, stream_key STRING, `partition` BIGINT,"
          + " `start` BIGINT, `end` BIGINT, `first` BIGINT, `last` BIGINT, `rows` BIGINT,"
          + " size BIGINT, upload STRING";

  private final SegmentOptions options;

  public SegmentJob(SegmentOptions options) {
    this.options = options;
  }

  /** Returns a DataFrame, whose tasks write the segments, with a row for each segment. */
  @SuppressWarnings("unchecked") // the function accepts an iterator over objects of any class
  public Object write(Object df, String topic, String token) throws Exception {
    // The messages have the form of MessageWriter, and each partition is sorted by stream key,
    // partition, day and offset. The topic is a key of Paths; of the token, see SegmentTask.
    QueryExecution execution = SparkCompat.execution(df);
    SerializableConfiguration conf =
        new SerializableConfiguration(SparkCompat.state(execution.sparkSession()).newHadoopConf());
    FlatMapFunction<?, InternalRow> task =
        new SegmentTask(Paths.path(topic).toString(), token, options, conf);
    Option<SparkSession> before = SparkCompat.enter(execution.sparkSession());
    try {
      JavaRDD<Object> rows = (JavaRDD<Object>) (JavaRDD<?>) execution.toRdd().toJavaRDD();
      JavaRDD<InternalRow> segments =
          rows.mapPartitions((FlatMapFunction<java.util.Iterator<Object>, InternalRow>) task);
      StructType schema = StructType.fromDDL(SCHEMA);
      return DataFrames.ofRows(execution.sparkSession(), segments.rdd(), schema);
    } finally {
      SparkCompat.activate(before);
    }
  }
}
