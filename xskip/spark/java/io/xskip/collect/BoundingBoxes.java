package io.xskip.collect;

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * Boxes that hold every point, as many as the cap at most. A point is an array of two doubles;
 * where one of them is NULL, the other's row is in a box without bounds on that side. The boxes
 * come as one list, four numbers each.
 */
public class BoundingBoxes extends Accumulator {
  private static final int HELD = 32;
  private final int cap;
  private final double[][] boxes;
  private int n;

  BoundingBoxes(int cap) {
    this.cap = cap;
    this.boxes = new double[Math.max(cap, HELD) + 1][];
  }

  int width() {
    return 1;
  }

  void reset() {
    n = 0;
  }

  void add(SpecializedGetters r, int at) {
    ArrayData p = r.getArray(at);
    boolean x = !p.isNullAt(0), y = !p.isNullAt(1);
    if (!x && !y) return;
    double px = x ? plain(p.getDouble(0)) : 0, py = y ? plain(p.getDouble(1)) : 0;
    double[] b = {
      x ? px : Double.NEGATIVE_INFINITY,
      x ? px : Double.NaN,
      y ? py : Double.NEGATIVE_INFINITY,
      y ? py : Double.NaN
    };
    for (int i = 0; i < n; i++) if (within(boxes[i], b)) return;
    boxes[n++] = b;
    if (n == boxes.length) join();
  }

  private static double plain(double v) {
    return v == 0.0 ? 0.0 : v;
  }

  private static boolean within(
      double[] a, double[] b) { // Double.compare: NaN is above all, as in Spark
    return Double.compare(a[0], b[0]) <= 0
        && Double.compare(a[1], b[1]) >= 0
        && Double.compare(a[2], b[2]) <= 0
        && Double.compare(a[3], b[3]) >= 0;
  }

  private static double[] around(double[] a, double[] b) {
    return new double[] {
      least(a[0], b[0]), greatest(a[1], b[1]), least(a[2], b[2]), greatest(a[3], b[3])
    };
  }

  private static double least(double a, double b) {
    return Double.compare(a, b) <= 0 ? a : b;
  }

  private static double greatest(double a, double b) {
    return Double.compare(a, b) >= 0 ? a : b;
  }

  /** How much a side grows in a union, in parts of what all boxes span there. */
  private static double side(double lo, double hi, double span) {
    double d = hi - lo;
    return d != d || d == Double.POSITIVE_INFINITY ? 1e9 : span > 0 ? d / span : 0;
  }

  /** Joins the two boxes whose union is the smallest. */
  private void join() {
    double[] all = boxes[0];
    for (int i = 1; i < n; i++) all = around(all, boxes[i]);
    double w = all[1] - all[0], h = all[3] - all[2], best = Double.POSITIVE_INFINITY;
    int first = 0, second = 1;
    for (int i = 0; i < n; i++) {
      for (int j = i + 1; j < n; j++) {
        double[] u = around(boxes[i], boxes[j]);
        double grown = side(u[0], u[1], w) + side(u[2], u[3], h);
        if (grown < best) {
          best = grown;
          first = i;
          second = j;
        }
      }
    }
    double[] u = around(boxes[first], boxes[second]);
    boxes[second] = boxes[--n];
    boxes[first] = u;
  }

  void emit(Object[] out, int at, boolean whole) {
    while (n > cap) join();
    double[] ends = new double[4 * n];
    for (int i = 0; i < n; i++) System.arraycopy(boxes[i], 0, ends, 4 * i, 4);
    out[at] = UnsafeArrayData.fromPrimitiveArray(ends);
  }
}
