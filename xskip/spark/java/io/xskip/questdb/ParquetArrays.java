package io.xskip.questdb;

import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** The arrays of doubles of a row group, as nested lists. */
final class ParquetArrays {
  private final RecordReader<Group> records;
  private final int dimensions;

  ParquetArrays(PageReadStore pages, Type field, int dimensions) {
    MessageType schema = new MessageType("array", field);
    GroupRecordConverter converter = new GroupRecordConverter(schema);
    this.records =
        (RecordReader<Group>)
            new ColumnIOFactory().getColumnIO(schema).getRecordReader(pages, converter);
    this.dimensions = dimensions;
  }

  /** Returns the next rows; {@code arrays} is null if the file lacks the column. */
  static ColumnVector vector(ParquetArrays arrays, DataType type, int count) {
    WritableColumnVector vector = new OnHeapColumnVector(count, type);
    for (int row = 0; row < count; row++) {
      Group record = arrays == null ? null : (Group) arrays.records.read();
      if (record == null || record.getFieldRepetitionCount(0) == 0) {
        vector.appendNull();
      } else {
        append(vector, (Group) record.getGroup(0, 0), arrays.dimensions - 1);
      }
    }
    return vector;
  }

  // depth: the number of dimensions below that of the list
  private static void append(WritableColumnVector vector, Group list, int depth) {
    int length = list.getFieldRepetitionCount(0);
    vector.appendArray(length);
    WritableColumnVector children = vector.arrayData();
    for (int i = 0; i < length; i++) {
      Group element = (Group) list.getGroup(0, i);
      if (element.getFieldRepetitionCount(0) == 0) {
        children.appendNull();
      } else if (depth > 0) {
        append(children, (Group) element.getGroup(0, 0), depth - 1);
      } else {
        double value = element.getDouble(0, 0);
        if (Double.isFinite(value)) {
          children.appendDouble(value);
        } else {
          children.appendNull();
        }
      }
    }
  }
}
