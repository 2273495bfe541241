package io.xskip.collect;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.unsafe.types.UTF8String;

/** Takes the values of one column; most pass over NULL. */
public abstract class Accumulator {
  static final int BOOLEAN = 0,
      BYTE = 1,
      SHORT = 2,
      INT = 3,
      LONG = 4,
      FLOAT = 5,
      DOUBLE = 6,
      STRING = 7,
      BINARY = 8,
      DECIMAL = 9;
  int column, kind, precision, scale;

  abstract int width();

  abstract void reset();

  abstract void add(SpecializedGetters r, int at);

  void none() {}

  void addAll(ColumnarArray values) {
    for (int i = 0, n = values.numElements(); i < n; i++)
      if (values.isNullAt(i)) none();
      else add(values, i);
  }

  /** Writes what was found from a place on; {@code whole}: the run is all of its object. */
  abstract void emit(Object[] out, int at, boolean whole);

  static Accumulator of(String[] spec) {
    String type = spec[2];
    if (type.startsWith("array<") && !spec[0].equals("boxes")) {
      String[] ofElements = (String[]) spec.clone();
      ofElements[2] = type.substring(6, type.length() - 1);
      Accumulator e = new ArrayElements(of(ofElements));
      e.column = Integer.parseInt(spec[1]);
      return e;
    }
    int kind = kind(type), cap = Integer.parseInt(spec[3]);
    Accumulator a =
        spec[0].equals("hashes")
            ? (Accumulator) new BloomHashes(cap, Double.parseDouble(spec[4]))
            : spec[0].equals("counts")
                ? (Accumulator) new NullCounts()
                : spec[0].equals("words")
                    ? (Accumulator) new WordHashes(cap, Double.parseDouble(spec[4]))
                    : spec[0].equals("ranges")
                        ? (Accumulator) new ValueRanges(cap)
                        : spec[0].equals("boxes")
                            ? (Accumulator) new BoundingBoxes(cap)
                            : spec[0].equals("values")
                                ? (Accumulator)
                                    (kind <= DOUBLE ? new LongValues(cap) : new ObjectValues(cap))
                                : kind <= LONG
                                    ? (Accumulator) new LongBounds()
                                    : kind <= DOUBLE ? new DoubleBounds() : new ObjectBounds();
    a.column = Integer.parseInt(spec[1]);
    a.kind = kind;
    if (kind == DECIMAL) {
      String[] digits = type.substring(8, type.length() - 1).split(",");
      a.precision = Integer.parseInt(digits[0].trim());
      a.scale = Integer.parseInt(digits[1].trim());
    }
    return a;
  }

  private static int kind(String type) {
    String[] names = {
      "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"
    };
    int k = Arrays.asList(names).indexOf(type.equals("array<double>") ? "double" : type);
    if (k < 0 && !type.startsWith("decimal(")) throw new IllegalArgumentException(type);
    return k < 0 ? DECIMAL : k;
  }

  long number(SpecializedGetters r, int at) {
    switch (kind) {
      case BOOLEAN:
        return r.getBoolean(at) ? 1L : 0L;
      case BYTE:
        return r.getByte(at);
      case SHORT:
        return r.getShort(at);
      case INT:
        return r.getInt(at);
      default:
        return r.getLong(at);
    }
  }

  Object boxed(long v) {
    switch (kind) {
      case BOOLEAN:
        return v == 1L ? Boolean.TRUE : Boolean.FALSE;
      case BYTE:
        return new Byte((byte) v);
      case SHORT:
        return new Short((short) v);
      case INT:
        return new Integer((int) v);
      case LONG:
        return new Long(v);
      case FLOAT:
        return new Float((float) Double.longBitsToDouble(v));
      default:
        return new Double(Double.longBitsToDouble(v));
    }
  }

  double real(SpecializedGetters r, int at) {
    return kind == FLOAT ? r.getFloat(at) : r.getDouble(at);
  }

  /** A string's memory is the row's, and the row is reused: what is kept is copied. */
  Object value(SpecializedGetters r, int at) {
    return kind == STRING
        ? (Object) r.getUTF8String(at)
        : kind == BINARY ? (Object) r.getBinary(at) : r.getDecimal(at, precision, scale);
  }

  static Object kept(Object v) {
    return v instanceof UTF8String ? ((UTF8String) v).clone() : v;
  }

  /** Spark's order: bytes unsigned, strings by their bytes. */
  static int compare(Object a, Object b) {
    if (a instanceof UTF8String) return ((UTF8String) a).compareTo((UTF8String) b);
    return a instanceof byte[]
        ? Arrays.compareUnsigned((byte[]) a, (byte[]) b)
        : ((Decimal) a).compare((Decimal) b);
  }
}
