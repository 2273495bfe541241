package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The type in which the kernel reads a column: as {@code long} (also dates, times, Booleans),
 * {@code double} or objects.
 */
final class ValueType {
  private enum Kind {
    BOOLEAN,
    BYTE,
    SHORT,
    INT,
    LONG,
    FLOAT,
    DOUBLE,
    STRING,
    BINARY,
    DECIMAL
  }

  private static final String DECIMAL_PREFIX = "decimal(";

  private final Kind kind;
  private final int precision;
  private final int scale;

  private ValueType(Kind kind, int precision, int scale) {
    this.kind = kind;
    this.precision = precision;
    this.scale = scale;
  }

  /**
   * Parses Spark's name of a type, such as {@code decimal(10,2)}; fails if the kernel cannot read
   * its values.
   */
  static ValueType parse(String text) {
    if (!text.startsWith(DECIMAL_PREFIX)) {
      return new ValueType(kindOf(text), 0, 0);
    }
    String[] digits = text.substring(DECIMAL_PREFIX.length(), text.length() - 1).split(",");
    int precision = Integer.parseInt(digits[0].trim());
    int scale = Integer.parseInt(digits[1].trim());
    return new ValueType(Kind.DECIMAL, precision, scale);
  }

  private static Kind kindOf(String name) {
    switch (name) {
      case "boolean":
        return Kind.BOOLEAN;
      case "tinyint":
        return Kind.BYTE;
      case "smallint":
        return Kind.SHORT;
      case "int":
        return Kind.INT;
      case "bigint":
        return Kind.LONG;
      case "float":
        return Kind.FLOAT;
      case "double":
        return Kind.DOUBLE;
      case "string":
        return Kind.STRING;
      case "binary":
        return Kind.BINARY;
      default:
        throw new IllegalArgumentException("the kernel cannot read values of type " + name);
    }
  }

  /** Returns whether {@link #readLong} reads the values: integers and Booleans. */
  boolean isIntegral() {
    return kind.compareTo(Kind.LONG) <= 0;
  }

  /** Returns whether {@link #readDouble} reads the values. */
  boolean isFloatingPoint() {
    return kind == Kind.FLOAT || kind == Kind.DOUBLE;
  }

  boolean isString() {
    return kind == Kind.STRING;
  }

  boolean isBinary() {
    return kind == Kind.BINARY;
  }

  boolean isDecimal() {
    return kind == Kind.DECIMAL;
  }

  /** Reads an integer, or a Boolean as 0 or 1. */
  long readLong(SpecializedGetters row, int column) {
    switch (kind) {
      case BOOLEAN:
        return row.getBoolean(column) ? 1L : 0L;
      case BYTE:
        return row.getByte(column);
      case SHORT:
        return row.getShort(column);
      case INT:
        return row.getInt(column);
      default:
        return row.getLong(column);
    }
  }

  double readDouble(SpecializedGetters row, int column) {
    return kind == Kind.FLOAT ? row.getFloat(column) : row.getDouble(column);
  }

  Decimal readDecimal(SpecializedGetters row, int column) {
    return row.getDecimal(column, precision, scale);
  }

  /**
   * Reads a string, a binary value or a decimal; a string refers to the memory of the row, which
   * Spark reuses.
   */
  Object readObject(SpecializedGetters row, int column) {
    switch (kind) {
      case STRING:
        return row.getUTF8String(column);
      case BINARY:
        return row.getBinary(column);
      default:
        return readDecimal(row, column);
    }
  }

  /** Returns a value from {@link #readObject} that stays valid after the next row. */
  static Object copyOf(Object value) {
    return value instanceof UTF8String ? ((UTF8String) value).clone() : value;
  }

  /**
   * Returns a result of {@link #readLong}, or the bits of a double, as the object that Spark stores
   * in rows.
   */
  Object box(long number) {
    switch (kind) {
      case BOOLEAN:
        return Boolean.valueOf(number == 1L);
      case BYTE:
        return Byte.valueOf((byte) number);
      case SHORT:
        return Short.valueOf((short) number);
      case INT:
        return Integer.valueOf((int) number);
      case LONG:
        return Long.valueOf(number);
      case FLOAT:
        return Float.valueOf((float) Double.longBitsToDouble(number));
      default:
        return Double.valueOf(Double.longBitsToDouble(number));
    }
  }

  Decimal decimal(long unscaled) {
    return new Decimal().set(unscaled, precision, scale);
  }

  /** Returns a number with the sign of zero removed, because Spark regards both zeros as equal. */
  static double withoutNegativeZero(double number) {
    return number == 0.0 ? 0.0 : number;
  }

  /** Returns the bits of a double, with the same bits for all zeros and for all NaNs. */
  static long canonicalBits(double number) {
    return Double.doubleToLongBits(withoutNegativeZero(number));
  }
}
