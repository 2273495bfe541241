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
  private final Path topic;
  private final SegmentOptions options;
  private final Configuration conf;
  private final String prefix;
  private final List<Path> written = new ArrayList<>();
  private SegmentFile open = null;
  private InternalRow pending = null; // read and not written; Spark overwrites it with the next one

  SegmentIterator(
      Iterator<?> rows, Path topic, String token, SegmentOptions options, Configuration conf) {
    this.rows = rows;
    this.topic = topic;
    this.options = options;
    this.conf = conf;
    TaskContext task = TaskContext.get();
    prefix = SegmentFiles.HIDDEN + token + "-" + task.taskAttemptId() + "-";
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
          open = new SegmentFile(topic, prefix + written.size(), pending, options, conf);
          written.add(open.path()); // also a file whose creation fails half way is removed
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
    for (Path path : written) {
      try {
        path.getFileSystem(conf).delete(path, false);
      } catch (IOException e) { // the file stays hidden until the sink cleans up
        continue;
      }
    }
  }
}
