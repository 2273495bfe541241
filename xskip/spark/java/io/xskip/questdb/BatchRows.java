package io.xskip.questdb;

import java.util.NoSuchElementException;
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
  private final Piece piece;
  private final UnsafeProjection projection;
  private java.util.Iterator<InternalRow> rows = null;

  BatchRows(
      Iterator<Object> batches, Piece piece, StructType required, StructType partitionSchema) {
    this.batches = batches;
    this.piece = piece;
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
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    try {
      return projection.apply((InternalRow) rows.next());
    } catch (RuntimeException e) {
      throw TableFailure.unreadable(piece.folder, e);
    }
  }
}
