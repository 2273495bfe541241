package io.xskip.quixlake;

import java.io.IOException;
import java.util.Arrays;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Decodes chosen fields of a record, and skips the others. */
final class RecordReader extends FieldReader {
  /** The place of a field whose value is not part of the row. */
  static final int NOWHERE = -1;

  private final FieldReader[] readers;
  private final int[] places;
  private final int width;

  /**
   * Creates a reader that skips all fields.
   *
   * @param width the number of columns of the row
   */
  RecordReader(Schema schema, int width) {
    this.width = width;
    readers = new FieldReader[schema.getFields().size()];
    places = new int[readers.length];
    Arrays.fill(places, NOWHERE);
    for (Schema.Field field : schema.getFields()) {
      readers[field.pos()] = FieldReader.skip(field.schema());
    }
  }

  /** Reads a field into a place of the row. */
  void read(Schema.Field field, int place, FieldReader reader) {
    readers[field.pos()] = reader;
    places[field.pos()] = place;
  }

  /**
   * Returns the field of a record with one of several names, or null. A name with the same letters
   * in other case counts if no field has exactly one of the names.
   */
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
