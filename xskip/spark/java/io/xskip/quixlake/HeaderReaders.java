package io.xskip.quixlake;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryDecoder;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decoders of headers: an array of records with key and value or, in the former form, a map from
 * key to value.
 */
final class HeaderReaders {
  private static final String COLUMN = "headers";

  private HeaderReaders() {}

  static FieldReader headers(Schema schema) {
    if (schema.getType() == Schema.Type.UNION) {
      FieldReader[] branches = new FieldReader[schema.getTypes().size()];
      for (int i = 0; i < branches.length; i++) {
        branches[i] = headers((Schema) schema.getTypes().get(i));
      }
      return new FieldReader.Union(branches);
    }
    if (FieldReader.isNull(schema)) {
      return FieldReader.skip(schema);
    }
    if (schema.getType() == Schema.Type.MAP) {
      return new OfMap(value(schema.getValueType()));
    }
    if (schema.getType() != Schema.Type.ARRAY
        || schema.getElementType().getType() != Schema.Type.RECORD) {
      throw FieldReader.mismatch(COLUMN, schema);
    }
    return new OfArray(header(schema.getElementType()));
  }

  private static FieldReader header(Schema record) {
    Schema.Field key = RecordReader.find(record, "key");
    Schema.Field value = RecordReader.find(record, "value");
    if (key == null || value == null) {
      throw FieldReader.mismatch(COLUMN, record);
    }
    RecordReader reader = new RecordReader(record, 2);
    reader.read(key, 0, FieldReader.text(COLUMN, key.schema()));
    reader.read(value, 1, value(value.schema()));
    return reader;
  }

  /** Returns a reader of the value of a header: a struct of a string and bytes, or null. */
  private static FieldReader value(Schema schema) {
    if (schema.getType() == Schema.Type.UNION) {
      FieldReader[] branches = new FieldReader[schema.getTypes().size()];
      for (int i = 0; i < branches.length; i++) {
        branches[i] = value((Schema) schema.getTypes().get(i));
      }
      return new FieldReader.Union(branches);
    }
    if (FieldReader.isNull(schema)) {
      return FieldReader.skip(schema);
    }
    if (!FieldReader.isBytes(schema)) {
      throw FieldReader.mismatch(COLUMN, schema);
    }
    return new Value(schema.getType() == Schema.Type.STRING);
  }

  private static GenericArrayData array(List<Object> headers) {
    return new GenericArrayData(headers.toArray());
  }

  private static final class OfArray extends FieldReader {
    private final FieldReader header;

    OfArray(FieldReader header) {
      this.header = header;
    }

    @Override
    Object read(BinaryDecoder in) throws IOException {
      List<Object> headers = new ArrayList<>();
      for (long count = in.readArrayStart(); count > 0; count = in.arrayNext()) {
        for (long i = 0; i < count; i++) {
          headers.add(header.read(in));
        }
      }
      return array(headers);
    }
  }

  private static final class OfMap extends FieldReader {
    private final FieldReader value;

    OfMap(FieldReader value) {
      this.value = value;
    }

    @Override
    Object read(BinaryDecoder in) throws IOException {
      List<Object> headers = new ArrayList<>();
      for (long count = in.readMapStart(); count > 0; count = in.mapNext()) {
        for (long i = 0; i < count; i++) {
          Object key = UTF8String.fromBytes(bytes(in));
          headers.add(new GenericInternalRow(new Object[] {key, value.read(in)}));
        }
      }
      return array(headers);
    }
  }

  private static final class Value extends FieldReader {
    private final boolean isText;

    Value(boolean isText) {
      this.isText = isText;
    }

    @Override
    Object read(BinaryDecoder in) throws IOException {
      byte[] bytes = bytes(in);
      Object[] branches = new Object[2];
      branches[isText ? 0 : 1] = isText ? UTF8String.fromBytes(bytes) : (Object) bytes;
      return new GenericInternalRow(branches);
    }
  }
}
