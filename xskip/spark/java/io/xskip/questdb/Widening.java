package io.xskip.questdb;

import java.util.Arrays;
import java.util.List;

/** The changes of a column's type that keep every value. Rules: [QDB-PQ-6]. */
final class Widening {
  private static final List<String> TEXTS = Arrays.asList("STRING", "VARCHAR", "SYMBOL");
  private static final List<String> INTEGERS = Arrays.asList("BYTE", "SHORT", "INT", "LONG");
  private static final long MILLISECONDS = 1000;

  private Widening() {}

  /** Returns whether the values of a former type have an exact form in the present one. */
  static boolean keepsValues(TableColumn then, TableColumn now) {
    if (isSame(then, now) || (TEXTS.contains(then.kind) && TEXTS.contains(now.kind))) {
      return true;
    }
    if (now.kind.equals("DOUBLE")) {
      return Arrays.asList("BYTE", "SHORT", "INT", "FLOAT").contains(then.kind);
    }
    if (now.kind.equals("FLOAT")) {
      return then.kind.equals("BYTE") || then.kind.equals("SHORT");
    }
    if (now.kind.equals("TIMESTAMP")) {
      return then.kind.equals("DATE") || then.kind.equals("TIMESTAMP");
    }
    return INTEGERS.contains(then.kind) && INTEGERS.contains(now.kind) && then.width < now.width;
  }

  private static boolean isSame(TableColumn then, TableColumn now) {
    return then.kind.equals(now.kind)
        && then.width == now.width
        && then.size == now.size
        && then.precision == now.precision
        && then.scale == now.scale;
  }

  /** Returns the bits of the present type for an integer of a former type. */
  static long ofIntegral(TableColumn then, TableColumn now, long value) {
    if (isSame(then, now)) {
      return value;
    }
    if (now.kind.equals("DOUBLE") || now.kind.equals("FLOAT")) {
      return then.kind.equals("INT") && value == Integer.MIN_VALUE
          ? ofFloating(now, Double.NaN)
          : ofFloating(now, value);
    }
    if (now.kind.equals("TIMESTAMP")) {
      return ofTime(then, now, value);
    }
    return then.kind.equals("INT") && value == Integer.MIN_VALUE ? Long.MIN_VALUE : value;
  }

  static long ofFloating(TableColumn now, double value) {
    return now.kind.equals("FLOAT")
        ? Float.floatToRawIntBits((float) value)
        : Double.doubleToRawLongBits(value);
  }

  private static long ofTime(TableColumn then, TableColumn now, long value) {
    if (value == Long.MIN_VALUE) {
      return value;
    }
    // a TIMESTAMP has its ticks per second as size
    long former = then.kind.equals("DATE") ? MILLISECONDS : then.size;
    if (now.size >= former) {
      return Math.multiplyExact(value, now.size / former);
    }
    long ratio = former / now.size;
    if (value % ratio != 0) {
      throw new IllegalStateException("the time " + value + " has no exact form in microseconds");
    }
    return value / ratio;
  }
}
