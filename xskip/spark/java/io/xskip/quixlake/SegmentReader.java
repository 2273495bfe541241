package io.xskip.quixlake;

import java.io.Serializable;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;
import scala.runtime.AbstractFunction1;

/**
 * The function that reads a split of a segment: from {@code PartitionedFile} to an iterator over
 * rows.
 */
final class SegmentReader extends AbstractFunction1<Object, Object> implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String[] columns;
  private final Map<String, Long> partitions;
  private final boolean isDistinct;
  private final boolean canIgnore;
  private final Broadcast<SerializableConfiguration> conf;

  /**
   * Creates a reader; see {@link SegmentFormat}. {@code canIgnore}: Spark leaves out segments that
   * cannot be read.
   */
  SegmentReader(
      String[] columns,
      Map<String, Long> partitions,
      boolean isDistinct,
      boolean canIgnore,
      Broadcast<SerializableConfiguration> conf) {
    this.columns = columns;
    this.partitions = partitions;
    this.isDistinct = isDistinct;
    this.canIgnore = canIgnore;
    this.conf = conf;
  }

  @Override
  public Object apply(Object object) { // erased types: Janino creates no bridge methods
    PartitionedFile file = (PartitionedFile) object;
    Path path = file.toPath();
    MessageReader messages = new MessageReader(columns, partitionOf(path), isDistinct);
    SegmentRows rows = new SegmentRows(path, messages, canIgnore);
    TaskContext context = TaskContext.get();
    if (context != null) {
      context.addTaskCompletionListener((TaskCompletionListener) rows);
    }
    rows.open(((SerializableConfiguration) conf.value()).value(), file.start(), file.length());
    return rows;
  }

  private Long partitionOf(Path path) {
    Long partition = (Long) partitions.get(path.toUri().getPath());
    return partition == null ? SegmentNames.partition(path.getName()) : partition;
  }
}
