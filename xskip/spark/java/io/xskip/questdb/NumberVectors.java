package io.xskip.questdb;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Vectors of booleans, numbers and times. Rules: [QDB-TY-1]. */
final class NumberVectors {
  private static final long MICROSECONDS = 1000;

  private NumberVectors() {}

  static final class Booleans extends PlainVector {
    Booleans(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return false;
    }

    @Override
    public boolean getBoolean(int row) {
      return data[row] != 0;
    }
  }

  static final class Bytes extends PlainVector {
    Bytes(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return false;
    }

    @Override
    public byte getByte(int row) {
      return data[row];
    }
  }

  static final class Shorts extends PlainVector {
    Shorts(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return false;
    }

    @Override
    public short getShort(int row) {
      return shortAt(row << 1);
    }
  }

  static final class Ints extends PlainVector {
    Ints(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return intAt(row << 2) == Integer.MIN_VALUE;
    }

    @Override
    public int getInt(int row) {
      return intAt(row << 2);
    }
  }

  static class Longs extends PlainVector {
    Longs(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return longAt(row << 3) == Long.MIN_VALUE;
    }

    @Override
    public long getLong(int row) {
      return longAt(row << 3);
    }
  }

  static final class Milliseconds extends Longs {
    private final String name;

    Milliseconds(DataType type, byte[] data, String name) {
      super(type, data);
      this.name = name;
    }

    @Override
    public long getLong(int row) {
      long value = longAt(row << 3);
      if (Math.abs(value) > Long.MAX_VALUE / MICROSECONDS) {
        throw TableFailure.damaged(
            name, "the DATE " + value + " has no form in microseconds; select other columns");
      }
      return value * MICROSECONDS;
    }
  }

  static final class Floats extends PlainVector {
    Floats(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return !Float.isFinite(getFloat(row));
    }

    @Override
    public float getFloat(int row) {
      return Platform.getFloat(data, Platform.BYTE_ARRAY_OFFSET + (row << 2));
    }
  }

  static final class Doubles extends PlainVector {
    Doubles(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return !Double.isFinite(getDouble(row));
    }

    @Override
    public double getDouble(int row) {
      return Platform.getDouble(data, Platform.BYTE_ARRAY_OFFSET + (row << 3));
    }
  }

  static final class Decimals extends PlainVector {
    private final int width;
    private final int precision;
    private final int scale;

    Decimals(DataType type, byte[] data, TableColumn column) {
      super(type, data);
      width = column.width;
      precision = column.precision;
      scale = column.scale;
    }

    @Override
    public boolean isNullAt(int row) {
      if (width <= Long.BYTES) {
        return integerAt(row, width) == Long.MIN_VALUE >> (Long.SIZE - Byte.SIZE * width);
      }
      boolean isNull = longAt(row * width) == Long.MIN_VALUE;
      for (int word = Long.BYTES; word < width; word += Long.BYTES) {
        isNull &= longAt(row * width + word) == 0;
      }
      return isNull;
    }

    @Override
    public Decimal getDecimal(int row, int targetPrecision, int targetScale) {
      if (width <= Long.BYTES) {
        return Decimal.createUnsafe(integerAt(row, width), precision, scale);
      }
      return Decimal.apply(new BigDecimal(large(row), scale), precision, scale);
    }

    @Override // decimals with more digits than Spark's type are text
    public UTF8String getUTF8String(int row) {
      return UTF8String.fromString(new BigDecimal(large(row), scale).toPlainString());
    }

    private BigInteger large(int row) {
      byte[] bytes = new byte[width];
      for (int i = 0; i < width; i++) {
        int word = i / Long.BYTES * Long.BYTES; // the most significant word comes first
        bytes[i] = data[row * width + word + Long.BYTES - 1 - i % Long.BYTES];
      }
      return new BigInteger(bytes);
    }
  }
}
