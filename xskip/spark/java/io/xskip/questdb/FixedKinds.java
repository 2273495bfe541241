package io.xskip.questdb;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.sql.types.DataType;

/** The kinds of columns whose values have a fixed width in column files. Rules: [QDB-TY-1]. */
final class FixedKinds {
  private FixedKinds() {}

  /** Returns the bytes of the value of a row that is older than a column. */
  static byte[] absent(TableColumn column) {
    ByteBuffer value = ByteBuffer.allocate(column.width).order(ByteOrder.LITTLE_ENDIAN);
    switch (column.kind) {
      case "INT":
      case "SYMBOL":
        return value.putInt(Integer.MIN_VALUE).array();
      case "FLOAT":
        return value.putFloat(Float.NaN).array();
      case "DOUBLE":
        return value.putDouble(Double.NaN).array();
      case "GEOHASH":
        Arrays.fill(value.array(), (byte) -1);
        return value.array();
      case "DECIMAL":
        if (column.width < Long.BYTES) {
          value.put(column.width - 1, (byte) Byte.MIN_VALUE);
          return value.array();
        }
        return value.putLong(Long.MIN_VALUE).array();
      case "LONG":
      case "DATE":
      case "TIMESTAMP":
      case "UUID":
      case "LONG128":
      case "LONG256":
        while (value.hasRemaining()) {
          value.putLong(Long.MIN_VALUE);
        }
        return value.array();
      default:
        return value.array();
    }
  }

  /** Returns the vector of values in the form of a column file; that of symbols is another. */
  static PlainVector vector(TableColumn column, DataType type, byte[] data) {
    switch (column.kind) {
      case "BOOLEAN":
        return new NumberVectors.Booleans(type, data);
      case "BYTE":
        return new NumberVectors.Bytes(type, data);
      case "SHORT":
        return new NumberVectors.Shorts(type, data);
      case "INT":
        return new NumberVectors.Ints(type, data);
      case "LONG":
      case "TIMESTAMP":
        return new NumberVectors.Longs(type, data);
      case "DATE":
        return new NumberVectors.Milliseconds(type, data, column.name);
      case "FLOAT":
        return new NumberVectors.Floats(type, data);
      case "DOUBLE":
        return new NumberVectors.Doubles(type, data);
      case "DECIMAL":
        return new NumberVectors.Decimals(type, data, column);
      case "CHAR":
        return new TextVectors.Chars(type, data);
      case "IPV4":
        return new TextVectors.Addresses(type, data);
      case "GEOHASH":
        return new TextVectors.Geohashes(type, data, column);
      case "UUID":
      case "LONG128":
        return new TextVectors.Uuids(type, data);
      case "LONG256":
        return new TextVectors.Longs256(type, data);
      default:
        throw new IllegalStateException(column.kind + " has no values of a fixed width");
    }
  }
}
