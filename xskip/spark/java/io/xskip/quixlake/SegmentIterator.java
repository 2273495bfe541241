package io.xskip.quixlake;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskFailureListener;

/**
 * Writes the messages of a task into segments, returns the row of each, and removes all files if
 * the task fails.
 */
final class SegmentIterator implements Iterator<InternalRow>, TaskFailureListener {
  private final Iterator<?> rows;
  private final SegmentOptions options;
  private final SegmentOutputs outputs;
  private final List<SegmentOutput> written = new ArrayList<>();
  private SegmentFile open = null;
  private InternalRow pending = null; // read and not written; Spark overwrites it with the next one

  SegmentIterator(
      Iterator<?> rows, Path topic, String token, SegmentOptions options, Configuration conf)
      throws IOException {
    this.rows = rows;
    this.options = options;
    TaskContext task = TaskContext.get();
    String prefix = SegmentFiles.HIDDEN + token + "-" + task.taskAttemptId() + "-";
    outputs = new SegmentOutputs(topic, prefix, options.ending, conf);
    task.addTaskFailureListener((TaskFailureListener) this);
  }

  @Override
  public boolean hasNext() {
    return pending != null || rows.hasNext();
  }

  @Override
  public InternalRow next() {
    try {
      while (hasNext()) {
        if (pending == null) {
          pending = checked((InternalRow) rows.next());
        }
        if (open == null) {
          open = new SegmentFile(outputs, pending, options);
          written.add(open.output()); // also a file whose creation fails half way is removed
          open.create();
        } else if (!open.accepts(pending)) {
          break;
        }
        open.append(pending);
        pending = null;
      }
      InternalRow segment = open.finish();
      open = null;
      return segment;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static InternalRow checked(InternalRow row) {
    String missing =
        row.isNullAt(MessageWriter.TIMESTAMP)
            ? "timestamp"
            : row.isNullAt(MessageWriter.PARTITION)
                ? "partition"
                : row.isNullAt(MessageWriter.OFFSET) ? "offset" : null;
    if (missing != null) {
      throw new IllegalArgumentException("a message has no " + missing);
    }
    return row;
  }

  @Override
  public void remove() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void onTaskFailure(TaskContext context, Throwable error) {
    if (open != null) {
      open.abort();
    }
    for (SegmentOutput output : written) {
      try {
        output.remove();
      } catch (IOException e) { // it stays invisible until the sink cleans up
        continue;
      }
    }
  }
}
