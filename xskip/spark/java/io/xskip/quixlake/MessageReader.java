package io.xskip.quixlake;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.avro.AvroTypeException;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DatumReader;
import org.apache.avro.io.Decoder;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Decodes messages into a row with the columns that a query needs, and skips the other fields. */
final class MessageReader implements DatumReader<Object> {
  private static final String GAP = "Gap";
  private static final long MICROS = 1000;
  private static final long MAX_MILLIS = Long.MAX_VALUE / MICROS;

  private final String[] columns; // those of the row, and others that the reader itself needs
  private final Object[] row;
  private final Object[] values;
  private final SeenOffsets seen;
  private final int offsetColumn;
  private final int partitionColumn;
  private final int timeColumn;
  private final int timestampColumn;
  private final Long partition;
  private RecordReader fields = null;
  private FieldReader.Flag gap = null;
  private boolean isCopy = false;

  /** Creates a reader; {@code partition} is that of messages that have none, or null. */
  MessageReader(String[] required, Long partition, boolean isDistinct) {
    columns = isDistinct ? with(with(required, "partition"), "offset") : required;
    seen = isDistinct ? new SeenOffsets() : null;
    List<String> names = Arrays.asList(columns);
    offsetColumn = names.indexOf("offset");
    this.partition = partition;
    this.partitionColumn = names.indexOf("partition");
    this.timeColumn = names.indexOf("time");
    int timestamp = names.indexOf("timestamp");
    this.timestampColumn = timestamp >= 0 ? timestamp : timeColumn;
    this.values = new Object[columns.length];
    this.row = columns.length == required.length ? values : new Object[required.length];
  }

  private static String[] with(String[] columns, String column) {
    if (Arrays.asList(columns).contains(column)) {
      return columns;
    }
    String[] more = (String[]) Arrays.copyOf(columns, columns.length + 1);
    more[columns.length] = column;
    return more;
  }

  /** Returns the row that each call of {@link #read} fills. */
  GenericInternalRow row() {
    return new GenericInternalRow(row);
  }

  /** Returns whether the message that was read last has the offset of one before it. */
  boolean isCopy() {
    return isCopy;
  }

  /** Returns whether the record that was read last marks a period without messages. */
  boolean isGap() {
    return gap != null && gap.isSet();
  }

  @Override
  public void setSchema(Schema schema) {
    if (schema.getType() != Schema.Type.RECORD) {
      throw new AvroTypeException("its records have the type " + schema + ", which is no message");
    }
    RecordReader record = new RecordReader(schema, columns.length);
    for (int i = 0; i < columns.length; i++) {
      Schema.Field field = RecordReader.find(schema, names(columns[i]));
      if (field != null && (i != timeColumn || i == timestampColumn)) {
        record.read(field, i, reader(columns[i], field.schema()));
      }
    }
    checkFields(schema);
    Schema.Field marker = RecordReader.find(schema, GAP);
    if (marker != null && FieldReader.isFlag(marker.schema())) {
      gap = new FieldReader.Flag();
      record.read(marker, RecordReader.NOWHERE, FieldReader.flag(marker.schema(), gap));
    }
    fields = record;
  }

  private static void checkFields(Schema schema) {
    for (String column : SegmentSchema.COLUMNS.fieldNames()) {
      if (RecordReader.find(schema, names(column)) != null) {
        return;
      }
    }
    List<String> found = new ArrayList<>();
    for (Schema.Field field : schema.getFields()) {
      found.add(field.name());
    }
    throw new AvroTypeException("its records are no messages, they have the fields " + found);
  }

  /** Returns the names of a column's field: the present one, and that of the former form. */
  private static String[] names(String column) {
    if (column.equals("timestamp") || column.equals("time")) {
      return new String[] {"timestamp", "TimestampMs"};
    }
    return column.equals("value") ? new String[] {column, "Payload"} : new String[] {column};
  }

  private static FieldReader reader(String column, Schema schema) {
    if (column.equals("headers")) {
      return HeaderReaders.headers(schema);
    }
    return column.equals("key") || column.equals("value")
        ? FieldReader.bytes(column, schema)
        : FieldReader.number(column, schema);
  }

  @Override
  public Object read(Object reuse, Decoder in) throws IOException {
    if (gap != null) {
      gap.clear();
    }
    fields.readInto(values, (BinaryDecoder) in);
    if (partitionColumn >= 0 && values[partitionColumn] == null) {
      values[partitionColumn] = partition;
    }
    if (timeColumn >= 0) {
      values[timeColumn] = micros((Long) values[timestampColumn]);
    }
    if (seen != null && !isGap()) {
      isCopy = !seen.add((Long) values[partitionColumn], (Long) values[offsetColumn]);
    }
    if (row != values) {
      System.arraycopy(values, 0, row, 0, row.length);
    }
    return reuse;
  }

  /** Returns milliseconds in microseconds, or null if these do not fit into a long. */
  private static Long micros(Long millis) {
    if (millis == null || millis.longValue() > MAX_MILLIS || millis.longValue() < -MAX_MILLIS) {
      return null;
    }
    return Long.valueOf(millis.longValue() * MICROS);
  }
}
