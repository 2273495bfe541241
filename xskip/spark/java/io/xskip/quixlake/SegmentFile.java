package io.xskip.quixlake;

import java.io.IOException;
import org.apache.avro.file.CodecFactory;
import org.apache.avro.file.DataFileWriter;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** A segment that a task writes. */
final class SegmentFile {
  private final SegmentOptions options;
  private final boolean hasNulls;
  private final UTF8String streamKey;
  private final long partition;
  private final long day;
  private final long firstOffset;
  private final long firstTimestamp;

  private final String text;
  private final String folder;
  private final SegmentOutput output;
  private final MessageWriter messages;
  private final DataFileWriter<Object> writer;
  private final SegmentDigest digest; // null if the output needs none
  private FSDataOutputStream out = null; // null before create
  private long rows = 0;
  private long start = Long.MAX_VALUE;
  private long end = Long.MIN_VALUE;
  private long lastOffset = 0;
  private long position = 0;
  private long flushed = 0; // of messages.written(), when the file had the length position

  /** Creates a segment, still without a file, for the first message, which is not written. */
  SegmentFile(SegmentOutputs outputs, InternalRow first, SegmentOptions options) {
    this.options = options;
    hasNulls = MessageWriter.needsNulls(first, options.hasBranches);
    boolean isKeyed = !first.isNullAt(MessageWriter.STREAM_KEY);
    streamKey = isKeyed ? first.getUTF8String(MessageWriter.STREAM_KEY).clone() : null;
    partition = first.getLong(MessageWriter.PARTITION);
    day = first.getLong(MessageWriter.DAY);
    firstOffset = first.getLong(MessageWriter.OFFSET);
    firstTimestamp = first.getLong(MessageWriter.TIMESTAMP);
    text = isKeyed ? FolderNames.text(streamKey.getBytes()) : null;
    folder = FolderNames.ofKey(text) + "/" + FolderNames.ofDay(day);
    output = outputs.next(folder);
    messages = new MessageWriter(options.hasBranches, hasNulls);
    writer = new DataFileWriter<Object>(messages);
    writer.setCodec(CodecFactory.fromString(options.codec));
    digest =
        output.needsDigest()
            ? new SegmentDigest(options.codec, options.hasBranches, hasNulls)
            : null;
  }

  void create() throws IOException {
    out = output.create();
    writer.create(MessageWriter.schema(hasNulls), out);
    position = out.getPos();
  }

  SegmentOutput output() {
    return output;
  }

  boolean accepts(InternalRow row) {
    boolean isKeyed = !row.isNullAt(MessageWriter.STREAM_KEY);
    if (isKeyed != (streamKey != null)
        || row.getLong(MessageWriter.PARTITION) != partition
        || row.getLong(MessageWriter.DAY) != day
        || (isKeyed && !row.getUTF8String(MessageWriter.STREAM_KEY).equals(streamKey))) {
      return false;
    }
    return rows < options.maxRows
        && size() < options.maxBytes
        && row.getLong(MessageWriter.TIMESTAMP) - firstTimestamp <= options.maxMillis
        && (hasNulls || !MessageWriter.needsNulls(row, options.hasBranches));
  }

  /** Returns the length of the file plus that of the messages which are still in memory. */
  private long size() {
    if (out.getPos() != position) {
      position = out.getPos();
      flushed = messages.written();
    }
    return position + messages.written() - flushed;
  }

  void append(InternalRow row) throws IOException {
    writer.append(row);
    if (digest != null) {
      digest.append(row);
    }
    long timestamp = row.getLong(MessageWriter.TIMESTAMP);
    start = Math.min(start, timestamp);
    end = Math.max(end, timestamp);
    lastOffset = row.getLong(MessageWriter.OFFSET);
    rows++;
  }

  /** Closes the file, and returns the row of the segment, see {@link SegmentJob}. */
  InternalRow finish() throws IOException {
    writer.flush();
    long size = out.getPos();
    writer.close();
    SegmentOutput.StoredSegment stored =
        output.store(name(), digest == null ? null : digest.text());
    return new GenericInternalRow(
        new Object[] {
          UTF8String.fromString(folder),
          UTF8String.fromString(stored.hidden),
          UTF8String.fromString(stored.name),
          text == null ? null : UTF8String.fromString(text),
          Long.valueOf(partition),
          Long.valueOf(start),
          Long.valueOf(end),
          Long.valueOf(firstOffset),
          Long.valueOf(lastOffset),
          Long.valueOf(rows),
          Long.valueOf(size),
          UTF8String.fromString(stored.upload)
        });
  }

  private String name() {
    String times = "ts_" + start + "_" + end;
    String offsets = "off_" + firstOffset + "_" + lastOffset;
    return times + "_part_" + partition + "_" + offsets + options.suffix;
  }

  /** Closes the file, which can be incomplete or not exist, after an error. */
  void abort() {
    try {
      if (out != null) {
        out.close();
      }
    } catch (Throwable t) { // the error that caused the abort is more important
      return;
    }
  }
}
