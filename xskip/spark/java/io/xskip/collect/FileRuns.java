package io.xskip.collect;

import java.util.HashSet;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;

public class FileRuns implements Iterator {
  private final Iterator pieces;
  private final Accumulator[] all;
  private final int ordinal, width;
  private final HashSet split;
  private Object piece = null; // the first row or batch of the next run; next() reuses its memory

  FileRuns(Iterator pieces, String[] specs, int[] at, HashSet split) {
    this.pieces = pieces;
    this.split = split;
    ordinal = at[0];
    all = new Accumulator[specs.length];
    int w = 1;
    for (int i = 0; i < specs.length; i++) {
      all[i] = Accumulator.of(specs[i].split(":"));
      all[i].column = at[all[i].column];
      w += all[i].width();
    }
    width = w;
  }

  public boolean hasNext() {
    while (piece == null && pieces.hasNext()) {
      piece = pieces.next();
      if (piece instanceof ColumnarBatch && ((ColumnarBatch) piece).numRows() == 0) piece = null;
    }
    return piece != null;
  }

  public Object next() {
    if (!hasNext()) throw new NoSuchElementException();
    int object = object();
    for (int i = 0; i < all.length; i++) all[i].reset();
    do {
      if (piece instanceof ColumnarBatch) take((ColumnarBatch) piece);
      else take((InternalRow) piece);
      piece = null;
    } while (hasNext() && object() == object);
    Object[] out = new Object[width];
    out[0] = new Integer(object);
    boolean whole = split != null && !split.contains(new Integer(object));
    for (int i = 0, at = 1; i < all.length; at += all[i++].width()) all[i].emit(out, at, whole);
    return new GenericInternalRow(out);
  }

  private int object() {
    return piece instanceof ColumnarBatch
        ? ((ColumnarBatch) piece).column(ordinal).getInt(0)
        : ((InternalRow) piece).getInt(ordinal);
  }

  private void take(InternalRow row) {
    for (int i = 0; i < all.length; i++)
      if (row.isNullAt(all[i].column)) all[i].none();
      else all[i].add(row, all[i].column);
  }

  private void take(ColumnarBatch batch) {
    for (int i = 0; i < all.length; i++)
      all[i].addAll(new ColumnarArray(batch.column(all[i].column), 0, batch.numRows()));
  }

  public void remove() {
    throw new UnsupportedOperationException();
  }
}
