package io.xskip.quixlake;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.NoSuchElementException;
import org.apache.avro.file.DataFileReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;

/** The messages in a split of a segment. The iterator returns the same row for all messages. */
final class SegmentRows extends AbstractIterator<Object>
    implements TaskCompletionListener, Closeable {
  // an end that no file reaches, although Avro adds the length of a sync marker to it
  private static final long NO_END = Long.MAX_VALUE / 2;

  private final Path path;
  private final MessageReader messages;
  private final boolean canIgnore;
  private final InternalRow row;

  private SegmentInput input = null;
  private DataFileReader<Object> reader = null;
  private long end = NO_END;
  private boolean hasMessage = false;

  SegmentRows(Path path, MessageReader messages, boolean canIgnore) {
    this.path = path;
    this.messages = messages;
    this.canIgnore = canIgnore;
    this.row = messages.row();
  }

  /**
   * Opens the segment; the split has the blocks that begin in its bytes, of a file in gzip all or
   * none.
   */
  void open(Configuration conf, long start, long length) {
    try {
      input = new SegmentInput(path, conf);
      if (start > 0 && input.isGzip()) {
        close();
        return;
      }
      reader = new DataFileReader<Object>(input, messages);
      if (!input.isGzip()) {
        end = start + length;
      }
      if (start > 0) {
        reader.sync(start);
      }
    } catch (Throwable t) {
      fail(t);
    }
  }

  @Override
  public boolean hasNext() {
    while (!hasMessage && reader != null) {
      advance();
    }
    return hasMessage;
  }

  @Override
  public Object next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    hasMessage = false;
    return row;
  }

  private void advance() {
    try {
      if (!reader.hasNext()) {
        checkEnd();
        close();
      } else if (reader.pastSync(end)) {
        close();
      } else {
        reader.next(row);
        hasMessage = !messages.isGap() && !messages.isCopy();
      }
    } catch (Throwable t) {
      fail(t);
    }
  }

  private void checkEnd() throws IOException { // within a block, Avro's reader reports the end
    if (reader.previousSync() != input.tell()) {
      throw new IOException(
          "it is truncated: its last block begins at byte "
              + reader.previousSync()
              + " and is not complete at the end, at byte "
              + input.tell());
    }
  }

  private void fail(Throwable error) {
    String codec = reader == null ? null : reader.getMetaString("avro.codec");
    try {
      close();
    } catch (Throwable t) {
      error.addSuppressed(t);
    }
    SegmentFailure.raise(path, codec, error, canIgnore);
  }

  @Override
  public void onTaskCompletion(TaskContext context) {
    try {
      close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    reader = null; // the task keeps its listeners, and the reader holds a block
    if (input != null) {
      SegmentInput open = input;
      input = null;
      open.close();
    }
  }
}
