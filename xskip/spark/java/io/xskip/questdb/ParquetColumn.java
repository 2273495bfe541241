package io.xskip.questdb;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReadStore;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * A column of a Parquet piece, whose values become those of a native file. Rules: [QDB-PQ-3]
 * [QDB-PQ-4] [QDB-PQ-6].
 */
final class ParquetColumn {
  private final TableColumn now;
  private final DataType type;
  private final TableColumn then;
  private final Type field;
  private final String path;
  private ColumnReader values = null;
  private ParquetArrays arrays = null;
  private int present = 0;
  private PrimitiveTypeName stored = null;

  private ParquetColumn(TableColumn now, DataType type, TableColumn then, Type field, String path) {
    this.now = now;
    this.type = type;
    this.then = then;
    this.field = field;
    this.path = path;
  }

  /** Returns a column, whose type can have changed since the file was written. */
  static ParquetColumn of(TableColumn now, DataType type, MessageType schema, String path) {
    TableColumn then = now;
    Type field = field(now, schema);
    for (int i = 0; field == null && i < now.former.length; i++) {
      then = now.former[i];
      field = field(then, schema);
    }
    if (field != null && !Widening.keepsValues(then, now)) {
      throw TableFailure.damaged(
          path,
          "the column "
              + now.name
              + " had the type "
              + then.kind
              + " when the file was written,"
              + " and its values have no exact form in "
              + now.kind
              + "; convert the partition to native before the change of the type");
    }
    return new ParquetColumn(now, type, then, field, path);
  }

  /** Returns the field whose number is the writer index of a column, or null. */
  static Type field(TableColumn column, MessageType schema) {
    for (Type field : schema.getFields()) {
      if (field.getId() != null && field.getId().intValue() == column.writerIndex) {
        return field;
      }
    }
    return null;
  }

  Type field() {
    return field;
  }

  void open(PageReadStore pages, ColumnReadStore store, MessageType projection) {
    if (field == null) {
      return;
    }
    if (now.kind.equals("ARRAY") && !field.isPrimitive()) {
      arrays = new ParquetArrays(pages, field, now.size);
      return;
    }
    ColumnDescriptor descriptor = projection.getColumnDescription(new String[] {field.getName()});
    values = store.getColumnReader(descriptor);
    present = descriptor.getMaxDefinitionLevel();
    stored = descriptor.getPrimitiveType().getPrimitiveTypeName();
  }

  ColumnVector read(int count) {
    if (now.kind.equals("ARRAY")) {
      return values == null ? ParquetArrays.vector(arrays, type, count) : arrays(count);
    }
    return now.width == 0 || now.kind.equals("SYMBOL") ? bytes(count) : fixed(count);
  }

  /** Returns the next arrays from the bytes of native files, of which null has none. */
  private ColumnVector arrays(int count) {
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    long[] starts = new long[count];
    long[] ends = new long[count];
    for (int row = 0; row < count; row++) {
      starts[row] = data.size();
      if (values.getCurrentDefinitionLevel() == present) {
        byte[] value = values.getBinary().getBytes();
        data.write(value, 0, value.length);
      }
      ends[row] = data.size();
      values.consume();
    }
    Ranges ranges = new Ranges(0, count, starts, ends, 0, data.toByteArray());
    return ArrayValues.vector(type, now.size, ranges, path);
  }

  private ColumnVector bytes(int count) {
    boolean isText = !now.kind.equals("BINARY");
    WritableColumnVector vector = new OnHeapColumnVector(count, type);
    for (int row = 0; row < count; row++) {
      if (values == null) {
        vector.putNull(row);
        continue;
      }
      if (values.getCurrentDefinitionLevel() == present) {
        byte[] value = values.getBinary().getBytes();
        if (isText && !Texts.isUtf8(value, 0, value.length)) {
          throw new IllegalStateException("text that is not UTF-8");
        }
        vector.putByteArray(row, value, 0, value.length);
      } else {
        vector.putNull(row);
      }
      values.consume();
    }
    return vector;
  }

  private ColumnVector fixed(int count) { // one class decides what is null, as in native files
    byte[] data = new byte[count * now.width];
    byte[] absent = FixedKinds.absent(now);
    for (int row = 0; row < count; row++) {
      int at = row * now.width;
      if (values != null && values.getCurrentDefinitionLevel() == present) {
        write(data, at);
      } else if (values == null || !then.isNeverNull()) {
        System.arraycopy(absent, 0, data, at, now.width);
      } else {
        put(data, at, now.width, Widening.ofIntegral(then, now, 0));
      }
      if (values != null) {
        values.consume();
      }
    }
    return FixedKinds.vector(now, type, data);
  }

  private void write(byte[] data, int at) {
    switch (stored) {
      case BOOLEAN:
        data[at] = (byte) (values.getBoolean() ? 1 : 0);
        return;
      case FLOAT:
        put(data, at, now.width, Widening.ofFloating(now, values.getFloat()));
        return;
      case DOUBLE:
        put(data, at, now.width, Widening.ofFloating(now, values.getDouble()));
        return;
      case INT32:
        writeIntegral(data, at, values.getInteger());
        return;
      case INT64:
        writeIntegral(data, at, values.getLong());
        return;
      default:
        writeBytes(data, at, values.getBinary());
    }
  }

  private void writeIntegral(byte[] data, int at, long value) {
    if (now.kind.equals("DECIMAL")) {
      writeDecimal(data, at, BigInteger.valueOf(value));
    } else {
      put(data, at, now.width, Widening.ofIntegral(then, now, value));
    }
  }

  private void writeBytes(byte[] data, int at, Binary binary) {
    byte[] value = binary.getBytes();
    if (now.kind.equals("DECIMAL")) {
      writeDecimal(data, at, new BigInteger(value));
      return;
    }
    if (value.length != now.width) {
      throw new IllegalStateException("a " + now.kind + " of " + value.length + " bytes");
    }
    for (int i = 0; i < value.length; i++) {
      data[at + i] = now.kind.equals("UUID") ? value[value.length - 1 - i] : value[i];
    }
  }

  /** Writes the words of a decimal, of several the most significant one first. */
  private void writeDecimal(byte[] data, int at, BigInteger value) {
    int words = (now.width + Long.BYTES - 1) / Long.BYTES;
    for (int word = 0; word < words; word++) {
      long bits = value.shiftRight(Long.SIZE * (words - 1 - word)).longValue();
      put(data, at + Long.BYTES * word, Math.min(now.width, Long.BYTES), bits);
    }
  }

  private static void put(byte[] data, int at, int width, long bits) {
    for (int i = 0; i < width; i++) {
      data[at + i] = (byte) (bits >>> Byte.SIZE * i);
    }
  }
}
