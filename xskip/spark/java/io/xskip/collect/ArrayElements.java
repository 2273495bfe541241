package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** A statistic of the elements of arrays; NULL arrays and NULL elements add nothing. */
final class ArrayElements extends Accumulator {
  private final Accumulator elements;

  ArrayElements(Accumulator elements) {
    this.elements = elements;
  }

  @Override
  int width() {
    return elements.width();
  }

  @Override
  void reset() {
    elements.reset();
  }

  @Override
  void add(SpecializedGetters row, int column) {
    ArrayData array = row.getArray(column);
    int count = array.numElements();
    for (int i = 0; i < count; i++) {
      if (!array.isNullAt(i)) {
        elements.add(array, i);
      }
    }
  }

  @Override
  void merge(Accumulator other) {
    elements.merge(((ArrayElements) other).elements);
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    elements.emit(result, start, isWholeFile);
  }
}
