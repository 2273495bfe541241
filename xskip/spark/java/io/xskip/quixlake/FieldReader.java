package io.xskip.quixlake;

import io.xskip.common.Bytes;
import java.io.IOException;
import org.apache.avro.AvroTypeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes the values of a field into Spark's internal form. */
abstract class FieldReader {
  /** Reads the next value, which may be null. */
  abstract Object read(BinaryDecoder in) throws IOException;

  static FieldReader skip(Schema schema) {
    return new Skip(schema);
  }

  /** Returns a reader of integers as {@code Long}. */
  static FieldReader number(String column, Schema schema) {
    if (isNull(schema)) {
      return skip(schema);
    }
    if (schema.getType() == Schema.Type.UNION) {
      FieldReader[] branches = new FieldReader[schema.getTypes().size()];
      for (int i = 0; i < branches.length; i++) {
        branches[i] = number(column, (Schema) schema.getTypes().get(i));
      }
      return new Union(branches);
    }
    boolean isInteger = schema.getType() == Schema.Type.LONG || schema.getType() == Schema.Type.INT;
    if (!isInteger || isFinerThanMillis(schema.getProp("logicalType"))) {
      throw mismatch(column, schema);
    }
    return new Number(); // an int has the encoding of a long
  }

  // whether a logical type is one of times in another unit
  private static boolean isFinerThanMillis(String logicalType) {
    return logicalType != null
        && (logicalType.endsWith("-micros") || logicalType.endsWith("-nanos"));
  }

  /** Returns a reader of bytes, or of the UTF-8 of strings, as {@code byte[]}. */
  static FieldReader bytes(String column, Schema schema) {
    if (isNull(schema)) {
      return skip(schema);
    }
    if (schema.getType() == Schema.Type.UNION) {
      FieldReader[] branches = new FieldReader[schema.getTypes().size()];
      for (int i = 0; i < branches.length; i++) {
        branches[i] = bytes(column, (Schema) schema.getTypes().get(i));
      }
      return new Union(branches);
    }
    if (!isBytes(schema)) {
      throw mismatch(column, schema);
    }
    return new Bytes();
  }

  /** Returns a reader of strings as {@code UTF8String}. */
  static FieldReader text(String column, Schema schema) {
    if (schema.getType() != Schema.Type.STRING) {
      throw mismatch(column, schema);
    }
    return new Text();
  }

  /** Returns whether a schema is a boolean, or a union of a boolean and null. */
  static boolean isFlag(Schema schema) {
    if (schema.getType() == Schema.Type.UNION) {
      for (Schema branch : schema.getTypes()) {
        if (!isNull(branch) && !isFlag(branch)) {
          return false;
        }
      }
      return true;
    }
    return schema.getType() == Schema.Type.BOOLEAN;
  }

  /** Returns a reader that sets a flag if the value is true. */
  static FieldReader flag(Schema schema, Flag flag) {
    if (schema.getType() == Schema.Type.UNION) {
      FieldReader[] branches = new FieldReader[schema.getTypes().size()];
      for (int i = 0; i < branches.length; i++) {
        branches[i] = flag((Schema) schema.getTypes().get(i), flag);
      }
      return new Union(branches);
    }
    return isNull(schema) ? skip(schema) : flag;
  }

  static boolean isNull(Schema schema) {
    return schema.getType() == Schema.Type.NULL;
  }

  static boolean isBytes(Schema schema) {
    return schema.getType() == Schema.Type.BYTES || schema.getType() == Schema.Type.STRING;
  }

  static AvroTypeException mismatch(String column, Schema schema) {
    return new AvroTypeException("the field of the column " + column + " has the type " + schema);
  }

  /** Reads a length and as many bytes; a string has the same encoding. */
  static byte[] bytes(BinaryDecoder in) throws IOException {
    long length = in.readLong();
    int available = in.inputStream().available();
    if (length < 0 || length > available) { // of damaged data, before it reserves memory
      throw new IOException(
          "a value has the length " + length + ", and its block has " + available + " more bytes");
    }
    byte[] bytes = new byte[(int) length];
    in.readFixed(bytes, 0, bytes.length);
    return bytes;
  }

  private static final class Skip extends FieldReader {
    private final Schema schema;

    Skip(Schema schema) {
      this.schema = schema;
    }

    @Override
    Object read(BinaryDecoder in) throws IOException {
      GenericDatumReader.skip(schema, in);
      return null;
    }
  }

  private static final class Number extends FieldReader {
    @Override
    Object read(BinaryDecoder in) throws IOException {
      return Long.valueOf(in.readLong());
    }
  }

  private static final class Bytes extends FieldReader {
    @Override
    Object read(BinaryDecoder in) throws IOException {
      return bytes(in);
    }
  }

  private static final class Text extends FieldReader {
    @Override
    Object read(BinaryDecoder in) throws IOException {
      return UTF8String.fromBytes(bytes(in));
    }
  }

  /** Reads a boolean and remembers whether it is true. */
  static final class Flag extends FieldReader {
    private boolean isSet = false;

    boolean isSet() {
      return isSet;
    }

    void clear() {
      isSet = false;
    }

    @Override
    Object read(BinaryDecoder in) throws IOException {
      isSet = in.readBoolean();
      return null;
    }
  }

  static final class Union extends FieldReader {
    private final FieldReader[] branches;

    Union(FieldReader[] branches) {
      this.branches = branches;
    }

    @Override
    Object read(BinaryDecoder in) throws IOException {
      int branch = in.readIndex();
      if (branch < 0 || branch >= branches.length) {
        throw new IOException("a union has no branch " + branch);
      }
      return branches[branch].read(in);
    }
  }
}
