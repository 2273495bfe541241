package io.xskip.catalyst;

import io.xskip.common.Bytes;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Values of one type on their way between Python and Spark: for each a state (0: there is one, 1:
 * NULL, 2: it failed) and a number, little-endian int64, which of numbers, times and booleans is
 * the value, of floats its bits as a double, and of strings, binary and decimals (as text) the
 * length of its bytes.
 */
public class PackedValues {
  final int n;
  private final DataType type;
  private final byte[] states;
  private final long[] numbers;
  private final byte[] bytes;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private int at = 0, next = 0;

  PackedValues(DataType type, byte[] states, long[] numbers, byte[] bytes) {
    this.type = type;
    this.states = states;
    this.numbers = numbers;
    this.bytes = bytes;
    this.n = states.length;
  }

  PackedValues(DataType type, int n) {
    this.type = type;
    this.states = new byte[n];
    this.numbers = new long[n];
    this.bytes = null;
    this.n = n;
  }

  /** Results, one after the other. */
  static PackedValues joined(PackedValues[] parts) {
    int n = 0;
    for (int i = 0; i < parts.length; i++) n += parts[i].n;
    PackedValues all = new PackedValues(null, n);
    for (int i = 0, at = 0; i < parts.length; at += parts[i++].n) {
      System.arraycopy(parts[i].states, 0, all.states, at, parts[i].n);
      System.arraycopy(parts[i].numbers, 0, all.numbers, at, parts[i].n);
      byte[] b = parts[i].out.toByteArray();
      all.out.write(b, 0, b.length);
    }
    return all;
  }

  public String states() {
    return Bytes.text(states);
  }

  public String numbers() {
    return Bytes.text(Bytes.bytes(numbers));
  }

  public String bytes() {
    return Bytes.text(out.toByteArray());
  }

  /** The i-th value as Spark holds it; to be called in order. */
  Object get(int i) {
    if (states[i] != 0) return null;
    long x = numbers[i];
    if (type instanceof BooleanType) return x != 0 ? Boolean.TRUE : Boolean.FALSE;
    if (type instanceof ByteType) return new Byte((byte) x);
    if (type instanceof ShortType) return new Short((short) x);
    if (type instanceof IntegerType
        || type instanceof DateType
        || type instanceof YearMonthIntervalType) return new Integer((int) x);
    if (type instanceof FloatType) return new Float((float) Double.longBitsToDouble(x));
    if (type instanceof DoubleType) return new Double(Double.longBitsToDouble(x));
    if (type instanceof StringType || type instanceof BinaryType || type instanceof DecimalType) {
      byte[] b = Arrays.copyOfRange(bytes, next, next + (int) x);
      next += (int) x;
      if (type instanceof StringType) return UTF8String.fromBytes(b);
      if (type instanceof BinaryType) return b;
      DecimalType t = (DecimalType) type;
      BigDecimal d = new BigDecimal(new String(b, StandardCharsets.US_ASCII));
      return new Decimal().set(new scala.math.BigDecimal(d), t.precision(), t.scale());
    }
    return new Long(x); // bigint, timestamps, day-time intervals
  }

  void fail() {
    states[at++] = 2;
  }

  void add(Object v) {
    if (v == null) {
      states[at++] = 1;
      return;
    }
    if (v instanceof Boolean) numbers[at++] = ((Boolean) v).booleanValue() ? 1 : 0;
    else if (v instanceof Float || v instanceof Double)
      numbers[at++] = Double.doubleToLongBits(((Number) v).doubleValue());
    else if (v instanceof Number && !(v instanceof BigDecimal))
      numbers[at++] = ((Number) v).longValue();
    else {
      byte[] b =
          v instanceof UTF8String
              ? ((UTF8String) v).getBytes()
              : v instanceof byte[]
                  ? (byte[]) v
                  : ((Decimal) v)
                      .toJavaBigDecimal()
                      .toPlainString()
                      .getBytes(StandardCharsets.US_ASCII);
      out.write(b, 0, b.length);
      numbers[at++] = b.length;
    }
  }
}
