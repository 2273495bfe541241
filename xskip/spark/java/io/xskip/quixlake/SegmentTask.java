package io.xskip.quixlake;

import java.io.IOException;
import java.util.Iterator;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.SerializableConfiguration;

/** The function that executors apply to the messages of a batch: it writes segments. */
public final class SegmentTask implements FlatMapFunction<Object, InternalRow> {
  private static final long serialVersionUID = 1L;

  private final String topic;
  private final String token;
  private final SegmentOptions options;
  private final SerializableConfiguration conf;

  /**
   * Creates a function; the hidden names of the batch share {@code token}, and no other batch has
   * it.
   */
  SegmentTask(String topic, String token, SegmentOptions options, SerializableConfiguration conf) {
    this.topic = topic;
    this.token = token;
    this.options = options;
    this.conf = conf;
  }

  @Override
  public Iterator<InternalRow> call(Object rows) throws IOException { // an iterator over messages
    return new SegmentIterator((Iterator<?>) rows, new Path(topic), token, options, conf.value());
  }
}
