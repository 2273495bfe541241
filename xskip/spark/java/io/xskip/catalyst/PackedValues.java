package io.xskip.catalyst;

import io.xskip.common.Bytes;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The binary form of values that Python and Spark exchange [JVM-EV-2]: states, numbers and bytes.
 */
public final class PackedValues {
  private static final byte NULL = 1;
  private static final byte FAILED = 2;

  private final DataType type;
  private final byte[] states;
  private final long[] numbers;
  private final byte[] input;
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private int nextByte = 0;
  private int added = 0;

  public PackedValues(DataType type, byte[] states, long[] numbers, byte[] bytes) {
    this.type = type;
    this.states = states;
    this.numbers = numbers;
    this.input = bytes;
  }

  /** Creates an instance to which the caller adds exactly {@code count} values. */
  PackedValues(int count) {
    this(null, new byte[count], new long[count], null);
  }

  /** Returns the values that were added to several instances, in order. */
  static PackedValues concatenated(PackedValues[] parts) {
    int count = 0;
    for (PackedValues part : parts) {
      count += part.count();
    }
    PackedValues all = new PackedValues(count);
    for (PackedValues part : parts) {
      System.arraycopy(part.states, 0, all.states, all.added, part.count());
      System.arraycopy(part.numbers, 0, all.numbers, all.added, part.count());
      all.added += part.count();
      byte[] bytes = part.output.toByteArray();
      all.output.write(bytes, 0, bytes.length);
    }
    return all;
  }

  int count() {
    return states.length;
  }

  // the methods that Python calls, in base 64

  public String states() {
    return Bytes.text(states);
  }

  public String numbers() {
    return Bytes.text(Bytes.bytes(numbers));
  }

  public String bytes() {
    return Bytes.text(output.toByteArray());
  }

  /** Returns a value in Catalyst's internal form; callers must get the values in order. */
  public Object get(int i) {
    if (states[i] != 0) {
      return null;
    }
    long number = numbers[i];
    if (type instanceof BooleanType) {
      return Boolean.valueOf(number != 0);
    }
    if (type instanceof ByteType) {
      return Byte.valueOf((byte) number);
    }
    if (type instanceof ShortType) {
      return Short.valueOf((short) number);
    }
    if (type instanceof IntegerType
        || type instanceof DateType
        || type instanceof YearMonthIntervalType) {
      return Integer.valueOf((int) number);
    }
    if (type instanceof FloatType) {
      return Float.valueOf((float) Double.longBitsToDouble(number));
    }
    if (type instanceof DoubleType) {
      return Double.valueOf(Double.longBitsToDouble(number));
    }
    if (type instanceof StringType || type instanceof BinaryType || type instanceof DecimalType) {
      return fromBytes((int) number);
    }
    return Long.valueOf(number); // bigint, timestamps, time, day-time intervals
  }

  private Object fromBytes(int length) {
    byte[] bytes = Arrays.copyOfRange(input, nextByte, nextByte + length);
    nextByte += length;
    if (type instanceof StringType) {
      return UTF8String.fromBytes(bytes);
    }
    if (type instanceof BinaryType) {
      return bytes;
    }
    DecimalType decimalType = (DecimalType) type;
    BigDecimal decimal = new BigDecimal(new String(bytes, StandardCharsets.US_ASCII));
    return new Decimal()
        .set(new scala.math.BigDecimal(decimal), decimalType.precision(), decimalType.scale());
  }

  void addFailure() {
    states[added] = FAILED;
    added++;
  }

  /** Adds a value in Catalyst's internal form; fails if its type has no packed form. */
  void add(Object value) {
    if (value == null) {
      states[added] = NULL;
    } else if (value instanceof Boolean) {
      numbers[added] = ((Boolean) value).booleanValue() ? 1 : 0;
    } else if (value instanceof Float || value instanceof Double) {
      numbers[added] = Double.doubleToLongBits(((Number) value).doubleValue());
    } else if (value instanceof Number && !(value instanceof BigDecimal)) {
      numbers[added] = ((Number) value).longValue();
    } else {
      byte[] bytes = toBytes(value);
      output.write(bytes, 0, bytes.length);
      numbers[added] = bytes.length;
    }
    added++;
  }

  private static byte[] toBytes(Object value) {
    if (value instanceof UTF8String) {
      return ((UTF8String) value).getBytes();
    }
    if (value instanceof byte[]) {
      return (byte[]) value;
    }
    String text = ((Decimal) value).toJavaBigDecimal().toPlainString();
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
