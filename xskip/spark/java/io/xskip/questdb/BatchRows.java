package io.xskip.questdb;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The rows of batches, for plans that take no batches. */
final class BatchRows extends AbstractIterator<Object> {
  private final Iterator<Object> batches;
  private final UnsafeProjection projection;
  private java.util.Iterator<InternalRow> rows = null;

  BatchRows(Iterator<Object> batches, StructType required, StructType partitionSchema) {
    this.batches = batches;
    StructType all = required;
    for (StructField field : partitionSchema.fields()) {
      all = all.add(field);
    }
    this.projection = UnsafeProjection.create(all);
  }

  @Override
  public boolean hasNext() {
    while (rows == null || !rows.hasNext()) {
      if (!batches.hasNext()) {
        return false;
      }
      rows = ((ColumnarBatch) batches.next()).rowIterator();
    }
    return true;
  }

  @Override
  public Object next() {
    hasNext();
    return projection.apply((InternalRow) rows.next());
  }
}
