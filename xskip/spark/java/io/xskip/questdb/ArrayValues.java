package io.xskip.questdb;

import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;

/** The arrays of doubles of an ARRAY column: a shape, and elements in the order of rows. */
final class ArrayValues {
  private final byte[] data;
  private final int dimensions;
  private final int[] shape;
  private int place;

  private ArrayValues(byte[] data, int dimensions) {
    this.data = data;
    this.dimensions = dimensions;
    this.shape = new int[dimensions];
  }

  static ColumnVector vector(DataType type, int dimensions, Ranges ranges, String path) {
    int rows = ranges.missing + ranges.present;
    WritableColumnVector vector = new OnHeapColumnVector(Math.max(rows, 1), type);
    ArrayValues arrays = new ArrayValues(ranges.data, dimensions);
    for (int row = 0; row < rows; row++) {
      if (row < ranges.missing || ranges.length(row) == 0) {
        vector.appendNull();
      } else if (arrays.enter(ranges.start(row), ranges.length(row))) {
        arrays.append(vector, 0);
      } else {
        throw TableFailure.damaged(path, "an array does not have the size of its shape");
      }
    }
    return vector;
  }

  /** Reads the shape of an array, and returns whether the array has the size of the shape. */
  private boolean enter(int start, int length) {
    int head = (Integer.BYTES * dimensions + Long.BYTES - 1) / Long.BYTES * Long.BYTES;
    long elements = head <= length ? 1 : -1;
    for (int i = 0; i < dimensions && elements >= 0; i++) {
      shape[i] = Platform.getInt(data, Platform.BYTE_ARRAY_OFFSET + start + Integer.BYTES * i);
      elements = shape[i] < 0 || elements > length ? -1 : elements * shape[i];
    }
    place = start + head;
    return elements >= 0 && elements <= (length - head) / Double.BYTES;
  }

  private void append(WritableColumnVector vector, int dimension) {
    vector.appendArray(shape[dimension]);
    WritableColumnVector children = vector.arrayData();
    for (int i = 0; i < shape[dimension]; i++) {
      if (dimension + 1 < dimensions) {
        append(children, dimension + 1);
        continue;
      }
      double value = Platform.getDouble(data, Platform.BYTE_ARRAY_OFFSET + place);
      place += Double.BYTES;
      if (Double.isFinite(value)) {
        children.appendDouble(value);
      } else {
        children.appendNull();
      }
    }
  }
}
