package io.xskip.quixlake;

import java.io.IOException;
import java.util.Arrays;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Decodes chosen fields of a record, and skips the others. */
final class RecordReader extends FieldReader {
  static final int NOWHERE = -1; // the place of a field whose value is not part of the row

  private final FieldReader[] readers;
  private final int[] places;
  private final int width;

  /** Creates a reader, of a row with {@code width} columns, that skips all fields. */
  RecordReader(Schema schema, int width) {
    this.width = width;
    readers = new FieldReader[schema.getFields().size()];
    places = new int[readers.length];
    Arrays.fill(places, NOWHERE);
    for (Schema.Field field : schema.getFields()) {
      readers[field.pos()] = FieldReader.skip(field.schema());
    }
  }

  void read(Schema.Field field, int place, FieldReader reader) {
    readers[field.pos()] = reader;
    places[field.pos()] = place;
  }

  /** Returns the field with one of several names, at best in the same case, or null. */
  static Schema.Field find(Schema record, String... names) {
    for (String name : names) {
      if (record.getField(name) != null) {
        return record.getField(name);
      }
    }
    for (String name : names) {
      for (Schema.Field field : record.getFields()) {
        if (field.name().equalsIgnoreCase(name)) {
          return field;
        }
      }
    }
    return null;
  }

  @Override
  Object read(BinaryDecoder in) throws IOException {
    Object[] values = new Object[width];
    readInto(values, in);
    return new GenericInternalRow(values);
  }

  void readInto(Object[] values, BinaryDecoder in) throws IOException {
    for (int i = 0; i < readers.length; i++) {
      Object value = readers[i].read(in);
      if (places[i] >= 0) {
        values[places[i]] = value;
      }
    }
  }
}
