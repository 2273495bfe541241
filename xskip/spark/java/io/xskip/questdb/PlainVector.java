package io.xskip.questdb;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A vector over the bytes of a column file, of which a value is decoded only when Spark asks for
 * it.
 */
abstract class PlainVector extends ColumnVector {
  protected final byte[] data;

  PlainVector(DataType type, byte[] data) {
    super(type);
    this.data = data;
  }

  protected final long longAt(int place) {
    return Platform.getLong(data, Platform.BYTE_ARRAY_OFFSET + place);
  }

  protected final int intAt(int place) {
    return Platform.getInt(data, Platform.BYTE_ARRAY_OFFSET + place);
  }

  protected final short shortAt(int place) {
    return Platform.getShort(data, Platform.BYTE_ARRAY_OFFSET + place);
  }

  /** Returns an integer of 1, 2, 4 or 8 bytes. */
  protected final long integerAt(int row, int width) {
    switch (width) {
      case Byte.BYTES:
        return data[row];
      case Short.BYTES:
        return shortAt(row << 1);
      case Integer.BYTES:
        return intAt(row << 2);
      default:
        return longAt(row << 3);
    }
  }

  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return true;
  }

  @Override
  public int numNulls() {
    return 1; // unknown: Spark only compares the number with zero
  }

  @Override
  public boolean getBoolean(int row) {
    throw unsupported();
  }

  @Override
  public byte getByte(int row) {
    throw unsupported();
  }

  @Override
  public short getShort(int row) {
    throw unsupported();
  }

  @Override
  public int getInt(int row) {
    throw unsupported();
  }

  @Override
  public long getLong(int row) {
    throw unsupported();
  }

  @Override
  public float getFloat(int row) {
    throw unsupported();
  }

  @Override
  public double getDouble(int row) {
    throw unsupported();
  }

  @Override
  public ColumnarArray getArray(int row) {
    throw unsupported();
  }

  @Override
  public ColumnarMap getMap(int row) {
    throw unsupported();
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    throw unsupported();
  }

  @Override
  public UTF8String getUTF8String(int row) {
    throw unsupported();
  }

  @Override
  public byte[] getBinary(int row) {
    throw unsupported();
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    throw unsupported();
  }

  private UnsupportedOperationException unsupported() {
    return new UnsupportedOperationException(getClass().getSimpleName() + " of " + dataType());
  }
}
