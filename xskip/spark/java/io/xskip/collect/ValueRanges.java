package io.xskip.jvm;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;

/** The hashes of the words of a string: its longest runs of bytes that are ASCII letters, digits, underscores, or not ASCII. */
class XSkipWords extends XSkipHashes {
  XSkipWords(int items, double logRate) { super(items, logRate); }
  void add(SpecializedGetters r, int at) {
    byte[] b = r.getUTF8String(at).getBytes();
    for (int start = 0, i = 0; i <= b.length; i++) {
      if (i < b.length && isOfWord(b[i])) continue;
      if (i > start) bytes(b, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET + start, i - start);
      start = i + 1;
    }
  }
  private static boolean isOfWord(byte b) { return b < 0 || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'; }
}

/** Ranges that hold every value, as many as the cap at most, with the widest gaps between them. Of numbers: values are
    kept as longs in Spark's order, decimals by their unscaled value. The ranges come as one list, ends in turn. */
class XSkipRanges extends XSkipAccumulator {
  private static final int HELD = 8192, KEPT = 1024;      // of the ends held, and of those kept where they are too many
  private final int cap; private final long[] low = new long[HELD], high = new long[HELD]; private int n;
  XSkipRanges(int cap) { this.cap = cap; }
  int width() { return 1; }
  void reset() { n = 0; }
  void add(SpecializedGetters r, int at) {
    long v = kind == FLOAT || kind == DOUBLE ? ordered(real(r, at)) : kind == DECIMAL ? r.getDecimal(at, precision, scale).toUnscaledLong() : number(r, at);
    if (n > 0 && low[n - 1] <= v && v <= high[n - 1]) return;
    if (n == HELD) narrow(KEPT);
    low[n] = v; high[n++] = v;
  }
  /** The bits of one zero and one NaN, so that they rise as the numbers do. */
  static long ordered(double v) {
    long bits = Double.doubleToLongBits(v == 0.0 ? 0.0 : v);
    return bits < 0 ? bits ^ Long.MAX_VALUE : bits;
  }
  static long bits(long ordered) { return ordered < 0 ? ordered ^ Long.MAX_VALUE : ordered; }
  /** As a number, for how far apart two are. */
  private double place(long v) { return kind == FLOAT || kind == DOUBLE ? Double.longBitsToDouble(bits(v)) : (double) v; }

  private void narrow(int most) {
    final long[] a = low, b = high;
    Integer[] order = new Integer[n];
    for (int i = 0; i < n; i++) order[i] = new Integer(i);
    Arrays.sort(order, new XSkipByValue(a));
    long[] l = new long[n], h = new long[n];
    int m = 0;
    for (int i = 0; i < n; i++) {
      int k = order[i].intValue();
      // between whole numbers that are neighbours there is no gap
      if (m > 0 && (a[k] <= h[m - 1] || kind != FLOAT && kind != DOUBLE && a[k] - 1 == h[m - 1])) h[m - 1] = Math.max(h[m - 1], b[k]);
      else { l[m] = a[k]; h[m++] = b[k]; }
    }
    double least = -1;
    int wide = m;
    if (m > most) {                                       // the narrowest of the widest gaps, of which there may be several
      double[] gaps = new double[m - 1];
      for (int i = 1; i < m; i++) gaps[i - 1] = gap(h[i - 1], l[i]);
      Arrays.sort(gaps);
      least = gaps[m - most];
      wide = 0;
      for (int i = m - most; i < m - 1 && gaps[i] == least; i++) wide++;
    }
    n = 0;
    for (int i = 0; i < m; i++) {
      double g = i == 0 ? 0 : gap(h[i - 1], l[i]);
      boolean apart = i == 0 || g > least || g == least && wide-- > 0;
      if (apart) { low[n] = l[i]; high[n++] = h[i]; } else high[n - 1] = h[i];
    }
  }
  /** NaN is as far from all else as infinity is. */
  private double gap(long from, long to) {
    double g = place(to) - place(from);
    return g != g ? Double.POSITIVE_INFINITY : g;
  }
  void emit(Object[] out, int at, boolean whole) {
    narrow(cap);
    Object[] ends = new Object[2 * n];
    for (int i = 0; i < n; i++) { ends[2 * i] = end(low[i]); ends[2 * i + 1] = end(high[i]); }
    out[at] = new GenericArrayData(ends);
  }
  private Object end(long v) {
    if (kind == DECIMAL) return new Decimal().set(v, precision, scale);
    return boxed(kind == FLOAT || kind == DOUBLE ? bits(v) : v);
  }
}

class XSkipByValue implements java.util.Comparator {
  private final long[] v;
  XSkipByValue(long[] v) { this.v = v; }
  public int compare(Object a, Object b) { return Long.compare(v[((Integer) a).intValue()], v[((Integer) b).intValue()]); }
}

/** Boxes that hold every point, as many as the cap at most. A point is an array of two doubles; where one of them is NULL,
    the other's row is in a box without bounds on that side. The boxes come as one list, four numbers each. */
class XSkipBoxes extends XSkipAccumulator {
  private static final int HELD = 32;
  private final int cap; private final double[][] boxes; private int n;
  XSkipBoxes(int cap) { this.cap = cap; this.boxes = new double[Math.max(cap, HELD) + 1][]; }
  int width() { return 1; }
  void reset() { n = 0; }
  void add(SpecializedGetters r, int at) {
    ArrayData p = r.getArray(at);
    boolean x = !p.isNullAt(0), y = !p.isNullAt(1);
    if (!x && !y) return;
    double px = x ? plain(p.getDouble(0)) : 0, py = y ? plain(p.getDouble(1)) : 0;
    double[] b = {x ? px : Double.NEGATIVE_INFINITY, x ? px : Double.NaN, y ? py : Double.NEGATIVE_INFINITY, y ? py : Double.NaN};
    for (int i = 0; i < n; i++) if (within(boxes[i], b)) return;
    boxes[n++] = b;
    if (n == boxes.length) join();
  }
  private static double plain(double v) { return v == 0.0 ? 0.0 : v; }
  private static boolean within(double[] a, double[] b) {   // Double.compare: NaN is above all, as in Spark
    return Double.compare(a[0], b[0]) <= 0 && Double.compare(a[1], b[1]) >= 0 && Double.compare(a[2], b[2]) <= 0 && Double.compare(a[3], b[3]) >= 0;
  }
  private static double[] around(double[] a, double[] b) {
    return new double[]{least(a[0], b[0]), greatest(a[1], b[1]), least(a[2], b[2]), greatest(a[3], b[3])};
  }
  private static double least(double a, double b) { return Double.compare(a, b) <= 0 ? a : b; }
  private static double greatest(double a, double b) { return Double.compare(a, b) >= 0 ? a : b; }
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
        if (grown < best) { best = grown; first = i; second = j; }
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
