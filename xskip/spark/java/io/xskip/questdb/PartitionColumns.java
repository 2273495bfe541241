package io.xskip.questdb;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.vectorized.ColumnVectorUtils;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** The columns of a batch that are equal in all rows of a file. */
final class PartitionColumns {
  private final StructType schema;
  private final InternalRow values;

  PartitionColumns(StructType schema, InternalRow values) {
    this.schema = schema;
    this.values = values;
  }

  /** Returns the columns of a batch: those of the file, then these. */
  ColumnVector[] after(ColumnVector[] columns, int rows) {
    ColumnVector[] all = new ColumnVector[columns.length + schema.length()];
    System.arraycopy(columns, 0, all, 0, columns.length);
    for (int i = 0; i < schema.length(); i++) {
      ConstantColumnVector constant = new ConstantColumnVector(rows, schema.apply(i).dataType());
      ColumnVectorUtils.populate(constant, values, i);
      all[columns.length + i] = constant;
    }
    return all;
  }
}
