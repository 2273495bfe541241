package io.xskip.questdb;

import java.util.Arrays;
import java.util.List;

/**
 * The bounds of columns in a row group of a Parquet piece, as integers in the order of values.
 * Rules: [QDB-PM-4].
 */
final class SidecarBounds {
  // The types whose bounds count, in the order of their codes from FIRST_CODE on, and the Parquet
  // type of each. Bounds of BYTE, SHORT, CHAR and BOOLEAN lack the zeros before the column, and
  // older servers wrote those of other widths. Bounds of text can be cut, and those of other types
  // are of bytes.
  private static final List<String> KINDS =
      Arrays.asList("INT", "LONG", "DATE", "TIMESTAMP", "FLOAT", "DOUBLE");

  private static final int FIRST_CODE = 5;
  private static final int[] PARQUET_TYPES = {1, 2, 2, 2, 4, 5};
  private static final int[] WIDTHS = {4, 8, 8, 8, 4, 8};

  private static final int NANOSECONDS = 1_000_000_000;
  private static final int NANOSECONDS_BIT = 1 << 18;
  private static final long MICROSECONDS = 1000;

  private final Sidecar sidecar;
  private final int group;
  private final TableSnapshot snapshot;

  SidecarBounds(Sidecar sidecar, int group, TableSnapshot snapshot) {
    this.sidecar = sidecar;
    this.group = group;
    this.snapshot = snapshot;
  }

  /** Returns the column of the table that a filter names, or null. */
  TableColumn column(String attribute) {
    for (TableColumn column : snapshot.columns) {
      if (Attributes.isOf(attribute, column.name)) {
        return column;
      }
    }
    return null;
  }

  /** Returns the least and the greatest value of a column as integers, or null if not known. */
  long[] of(TableColumn column) {
    int kind = KINDS.indexOf(column.kind);
    if (kind < 0) {
      return null;
    }
    int code = FIRST_CODE + kind;
    if (column.kind.equals("TIMESTAMP") && column.size == NANOSECONDS) {
      code |= NANOSECONDS_BIT;
    }
    int position = sidecar.position(column.writerIndex, code, PARQUET_TYPES[kind]);
    long[] bounds = position < 0 ? null : sidecar.bounds(group, position, WIDTHS[kind]);
    if (bounds == null) {
      return null;
    }
    for (int i = 0; i < bounds.length; i++) {
      Long number = number(bounds[i], column);
      if (number == null) {
        return null;
      }
      bounds[i] = number.longValue();
    }
    return bounds[0] <= bounds[1] ? bounds : null;
  }

  private static Long number(long bits, TableColumn column) { // null for a bound that has none
    switch (column.kind) {
      case "INT":
        return Long.valueOf((int) bits);
      case "DATE":
        return Math.abs(bits) > Long.MAX_VALUE / MICROSECONDS || bits == Long.MIN_VALUE
            ? null
            : Long.valueOf(bits * MICROSECONDS);
      case "FLOAT":
        return ordered(Float.intBitsToFloat((int) bits));
      case "DOUBLE":
        return ordered(Double.longBitsToDouble(bits));
      default:
        return Long.valueOf(bits);
    }
  }

  /** Returns the integer for a literal that is compared with a column, or null if it has none. */
  static Long number(Object literal, TableColumn column) {
    boolean isFloating = column.kind.equals("FLOAT") || column.kind.equals("DOUBLE");
    if (literal instanceof Double || literal instanceof Float) {
      return isFloating ? ordered(((Number) literal).doubleValue()) : null;
    }
    if (isFloating) {
      return null;
    }
    return literal instanceof Integer
        ? Long.valueOf(((Integer) literal).longValue())
        : TimeRange.value(literal);
  }

  /**
   * Returns an integer in the order of floating-point numbers, or null for what is not a number.
   */
  private static Long ordered(double value) {
    if (Double.isNaN(value)) {
      return null;
    }
    long bits = Double.doubleToRawLongBits(value + 0.0); // -0.0 equals 0.0
    return Long.valueOf(bits < 0 ? bits ^ Long.MAX_VALUE : bits);
  }
}
