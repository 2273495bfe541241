package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * Boxes, at most as many as a limit, that contain every point of a file: an array of two doubles, x
 * and y.
 */
final class BoundingBoxes extends Accumulator {
  private static final int MIN_X = 0;
  private static final int MAX_X = 1;
  private static final int MIN_Y = 2;
  private static final int MAX_Y = 3;

  private static final int LEAST_CAPACITY = 32;
  private static final double UNBOUNDED_GROWTH = 1e9;

  private final int limit;

  private final double[][] boxes; // with room for a new box beyond the capacity
  private int count;

  BoundingBoxes(int limit) {
    this.limit = limit;
    this.boxes = new double[Math.max(limit, LEAST_CAPACITY) + 1][];
  }

  @Override
  int width() {
    return 1;
  }

  @Override
  void reset() {
    count = 0;
  }

  @Override
  void add(SpecializedGetters row, int column) {
    ArrayData point = row.getArray(column);
    boolean hasX = !point.isNullAt(0);
    boolean hasY = !point.isNullAt(1);
    if (!hasX && !hasY) { // no box needs to contain the point
      return;
    }
    double x = hasX ? ValueType.withoutNegativeZero(point.getDouble(0)) : 0;
    double y = hasY ? ValueType.withoutNegativeZero(point.getDouble(1)) : 0;
    double[] box = {
      // NULL is without bounds on its side; in Spark's order NaN is above all other numbers
      hasX ? x : Double.NEGATIVE_INFINITY,
      hasX ? x : Double.NaN,
      hasY ? y : Double.NEGATIVE_INFINITY,
      hasY ? y : Double.NaN
    };
    addBox(box);
  }

  private void addBox(double[] box) {
    for (int i = 0; i < count; i++) {
      if (contains(boxes[i], box)) {
        return;
      }
    }
    boxes[count] = box;
    count++;
    if (count == boxes.length) {
      joinClosest();
    }
  }

  private static boolean contains(double[] outer, double[] inner) {
    return Double.compare(outer[MIN_X], inner[MIN_X]) <= 0
        && Double.compare(outer[MAX_X], inner[MAX_X]) >= 0
        && Double.compare(outer[MIN_Y], inner[MIN_Y]) <= 0
        && Double.compare(outer[MAX_Y], inner[MAX_Y]) >= 0;
  }

  private static double[] union(double[] a, double[] b) {
    return new double[] {
      least(a[MIN_X], b[MIN_X]),
      greatest(a[MAX_X], b[MAX_X]),
      least(a[MIN_Y], b[MIN_Y]),
      greatest(a[MAX_Y], b[MAX_Y])
    };
  }

  private static double least(double a, double b) {
    return Double.compare(a, b) <= 0 ? a : b;
  }

  private static double greatest(double a, double b) {
    return Double.compare(a, b) >= 0 ? a : b;
  }

  /** Replaces the two boxes with the smallest union by their union. */
  private void joinClosest() {
    double[] all = boxes[0];
    for (int i = 1; i < count; i++) {
      all = union(all, boxes[i]);
    }
    double smallest = Double.POSITIVE_INFINITY;
    int first = 0;
    int second = 1;
    for (int i = 0; i < count; i++) {
      for (int j = i + 1; j < count; j++) {
        double size = relativeSize(union(boxes[i], boxes[j]), all);
        if (size < smallest) {
          smallest = size;
          first = i;
          second = j;
        }
      }
    }
    boxes[first] = union(boxes[first], boxes[second]);
    count--;
    boxes[second] = boxes[count];
  }

  // the sum of a box's sides, each as a fraction of the same side of another box
  private static double relativeSize(double[] box, double[] all) {
    return relativeSide(box[MAX_X] - box[MIN_X], all[MAX_X] - all[MIN_X])
        + relativeSide(box[MAX_Y] - box[MIN_Y], all[MAX_Y] - all[MIN_Y]);
  }

  private static double relativeSide(double length, double total) {
    if (Double.isNaN(length) || length == Double.POSITIVE_INFINITY) {
      return UNBOUNDED_GROWTH;
    }
    return total > 0 ? length / total : 0;
  }

  @Override
  void merge(Accumulator other) {
    BoundingBoxes others = (BoundingBoxes) other;
    for (int i = 0; i < others.count; i++) {
      addBox(others.boxes[i]);
    }
  }

  @Override
  void emit(Object[] result, int start, boolean isWholeFile) {
    while (count > limit) {
      joinClosest();
    }
    double[] sides = new double[4 * count];
    for (int i = 0; i < count; i++) {
      System.arraycopy(boxes[i], 0, sides, 4 * i, 4);
    }
    result[start] = UnsafeArrayData.fromPrimitiveArray(sides);
  }
}
