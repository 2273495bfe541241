package io.xskip.questdb;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/** Vectors of values of fixed width that are text for Spark. Rules: [QDB-TY-1]. */
final class TextVectors {
  private TextVectors() {}

  static final class Chars extends PlainVector {
    Chars(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return shortAt(row << 1) == 0;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return Texts.ofUtf16(data, row << 1, 1);
    }
  }

  static final class Addresses extends PlainVector {
    Addresses(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return intAt(row << 2) == 0;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return Texts.ofAddress(intAt(row << 2));
    }
  }

  static final class Geohashes extends PlainVector {
    private final int width;
    private final int bits;

    Geohashes(DataType type, byte[] data, TableColumn column) {
      super(type, data);
      width = column.width;
      bits = column.size;
    }

    @Override
    public boolean isNullAt(int row) {
      return integerAt(row, width) < 0;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return Texts.ofGeohash(integerAt(row, width), bits);
    }
  }

  static final class Uuids extends PlainVector {
    Uuids(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      return longAt(row << 4) == Long.MIN_VALUE && longAt((row << 4) + 8) == Long.MIN_VALUE;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return Texts.ofUuid(data, row << 4);
    }
  }

  static final class Longs256 extends PlainVector {
    Longs256(DataType type, byte[] data) {
      super(type, data);
    }

    @Override
    public boolean isNullAt(int row) {
      boolean isNull = true;
      for (int word = 0; word < 32; word += 8) {
        isNull &= longAt((row << 5) + word) == Long.MIN_VALUE;
      }
      return isNull;
    }

    @Override
    public UTF8String getUTF8String(int row) {
      return Texts.ofLong256(data, row << 5);
    }
  }
}
