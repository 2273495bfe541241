package io.xskip.quixlake;

import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.io.DatumWriter;
import org.apache.avro.io.Encoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * Writes rows of stream key, partition, day, offset, timestamp, key, value and headers as records
 * of Avro.
 */
final class MessageWriter implements DatumWriter<Object> {
  static final int STREAM_KEY = 0;
  static final int PARTITION = 1;
  static final int DAY = 2;
  static final int OFFSET = 3;
  static final int TIMESTAMP = 4;
  private static final int KEY = 5;
  private static final int VALUE = 6;
  private static final int HEADERS = 7;

  private static final String BYTES_OR_NULL = "[\"null\",\"bytes\"]";

  private final boolean hasBranches;
  private final boolean hasNulls;
  private long written = 0;

  /** Creates a writer; {@code hasNulls}: values of messages and headers can be null. */
  MessageWriter(boolean hasBranches, boolean hasNulls) {
    this.hasBranches = hasBranches;
    this.hasNulls = hasNulls;
  }

  /**
   * Returns the schema of segments; only one with nulls has that with nulls, because the format of
   * the lake has none.
   */
  static Schema schema(boolean hasNulls) {
    String value = hasNulls ? BYTES_OR_NULL : "\"bytes\"";
    String header = hasNulls ? "[\"null\",\"string\",\"bytes\"]" : "[\"string\",\"bytes\"]";
    return new Schema.Parser()
        .parse(
            "{\"type\":\"record\",\"name\":\"KafkaMessage\",\"fields\":["
                + field("timestamp", "\"long\"")
                + ","
                + field("key", BYTES_OR_NULL)
                + ","
                + field(
                    "headers",
                    "{\"type\":\"array\",\"items\":"
                        + "{\"type\":\"record\",\"name\":\"Header\",\"fields\":["
                        + field("key", "\"string\"")
                        + ","
                        + field("value", header)
                        + "]}}")
                + ","
                + field("value", value)
                + ","
                + field("partition", "\"long\"")
                + ","
                + field("offset", "\"long\"")
                + "]}");
  }

  private static String field(String name, String type) {
    return "{\"name\":\"" + name + "\",\"type\":" + type + "}";
  }

  static boolean needsNulls(InternalRow row, boolean hasBranches) {
    if (row.isNullAt(VALUE)) {
      return true;
    }
    if (row.isNullAt(HEADERS)) {
      return false;
    }
    ArrayData headers = row.getArray(HEADERS);
    for (int i = 0; i < headers.numElements(); i++) {
      if (!headers.isNullAt(i) && isNull(headers.getStruct(i, 2), hasBranches)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isNull(InternalRow header, boolean hasBranches) {
    if (header.isNullAt(1)) {
      return true;
    }
    if (!hasBranches) {
      return false;
    }
    InternalRow value = header.getStruct(1, 2);
    return value.isNullAt(0) && value.isNullAt(1);
  }

  /** Returns the approximate number of bytes of all messages, before compression. */
  long written() {
    return written;
  }

  @Override
  public void setSchema(Schema schema) {}

  @Override
  public void write(Object message, Encoder out) throws IOException {
    InternalRow row = (InternalRow) message;
    out.writeLong(row.getLong(TIMESTAMP));
    if (row.isNullAt(KEY)) {
      out.writeIndex(0);
    } else {
      out.writeIndex(1);
      writeBytes(row.getBinary(KEY), out);
    }
    writeHeaders(row.isNullAt(HEADERS) ? null : row.getArray(HEADERS), out);
    boolean isTombstone = row.isNullAt(VALUE);
    if (hasNulls) {
      out.writeIndex(isTombstone ? 0 : 1);
    }
    if (!isTombstone) {
      writeBytes(row.getBinary(VALUE), out);
    }
    out.writeLong(row.getLong(PARTITION));
    out.writeLong(row.getLong(OFFSET));
    written += 2 * Long.BYTES;
  }

  private void writeHeaders(ArrayData headers, Encoder out) throws IOException {
    int count = headers == null ? 0 : headers.numElements();
    out.writeArrayStart();
    out.setItemCount(count);
    for (int i = 0; i < count; i++) {
      if (headers.isNullAt(i)) {
        throw new IllegalArgumentException("an element of a message's headers is null");
      }
      out.startItem();
      writeHeader(headers.getStruct(i, 2), out);
    }
    out.writeArrayEnd();
  }

  private void writeHeader(InternalRow header, Encoder out) throws IOException {
    if (header.isNullAt(0)) {
      throw new IllegalArgumentException("a header of a message has no key");
    }
    writeBytes(header.getUTF8String(0).getBytes(), out); // a string has the same form as bytes
    int first = hasNulls ? 1 : 0;
    if (isNull(header, hasBranches)) {
      out.writeIndex(0);
    } else if (!hasBranches) {
      out.writeIndex(first + 1);
      writeBytes(header.getBinary(1), out);
    } else {
      writeBranch(header.getStruct(1, 2), first, out);
    }
  }

  private void writeBranch(InternalRow value, int first, Encoder out) throws IOException {
    boolean isText = !value.isNullAt(0);
    if (isText && !value.isNullAt(1)) {
      throw new IllegalArgumentException("the value of a header is both a string and bytes");
    }
    out.writeIndex(isText ? first : first + 1);
    writeBytes(isText ? value.getUTF8String(0).getBytes() : value.getBinary(1), out);
  }

  private void writeBytes(byte[] bytes, Encoder out) throws IOException {
    out.writeBytes(bytes);
    written += bytes.length;
  }
}
