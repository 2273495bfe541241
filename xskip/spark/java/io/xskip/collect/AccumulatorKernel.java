package io.xskip.jvm;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/** Runs on executors: the rows or batches of a scan, which come object by object, to one row for each run of an object:
    its ordinal and what the accumulators found. Each accumulator is written "kind:column:type:cap:rate"; columns are
    counted as in {@code at}, which has the place of each in the rows, of the ordinal first. {@code split}: the ordinals
    of the objects that several tasks read; null where that is not known. */
public class XSkipKernel implements FlatMapFunction, Serializable {
  private final String[] specs; private final int[] at; private final HashSet split;
  public XSkipKernel(String[] specs, int[] at, HashSet split) { this.specs = specs; this.at = at; this.split = split; }
  public Iterator call(Object pieces) { return new XSkipRuns((Iterator) pieces, specs, at, split); }
}

class XSkipRuns implements Iterator {
  private final Iterator pieces; private final XSkipAccumulator[] all; private final int ordinal, width; private final HashSet split;
  private Object piece = null;                       // the first row or batch of the next run; next() reuses its memory
  XSkipRuns(Iterator pieces, String[] specs, int[] at, HashSet split) {
    this.pieces = pieces; this.split = split; ordinal = at[0];
    all = new XSkipAccumulator[specs.length];
    int w = 1;
    for (int i = 0; i < specs.length; i++) {
      all[i] = XSkipAccumulator.of(specs[i].split(":"));
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
    if (!hasNext()) throw new java.util.NoSuchElementException();
    int object = object();
    for (int i = 0; i < all.length; i++) all[i].reset();
    do {
      if (piece instanceof ColumnarBatch) take((ColumnarBatch) piece); else take((InternalRow) piece);
      piece = null;
    } while (hasNext() && object() == object);
    Object[] out = new Object[width];
    out[0] = new Integer(object);
    boolean whole = split != null && !split.contains(new Integer(object));
    for (int i = 0, at = 1; i < all.length; at += all[i++].width()) all[i].emit(out, at, whole);
    return new GenericInternalRow(out);
  }
  private int object() {
    return piece instanceof ColumnarBatch ? ((ColumnarBatch) piece).column(ordinal).getInt(0) : ((InternalRow) piece).getInt(ordinal);
  }
  private void take(InternalRow row) {
    for (int i = 0; i < all.length; i++) if (row.isNullAt(all[i].column)) all[i].none(); else all[i].add(row, all[i].column);
  }
  private void take(ColumnarBatch batch) {
    for (int i = 0; i < all.length; i++) all[i].addAll(new ColumnarArray(batch.column(all[i].column), 0, batch.numRows()));
  }
  public void remove() { throw new UnsupportedOperationException(); }
}

/** Takes the values of one column; most pass over NULL. */
abstract class XSkipAccumulator {
  static final int BOOLEAN = 0, BYTE = 1, SHORT = 2, INT = 3, LONG = 4, FLOAT = 5, DOUBLE = 6, STRING = 7, BINARY = 8, DECIMAL = 9;
  int column, kind, precision, scale;
  abstract int width();
  abstract void reset();
  abstract void add(SpecializedGetters r, int at);
  void none() { }
  void addAll(ColumnarArray values) {
    for (int i = 0, n = values.numElements(); i < n; i++) if (values.isNullAt(i)) none(); else add(values, i);
  }
  /** Writes what was found from a place on; {@code whole}: the run is all of its object. */
  abstract void emit(Object[] out, int at, boolean whole);

  static XSkipAccumulator of(String[] spec) {
    String type = spec[2];
    if (type.startsWith("array<") && !spec[0].equals("boxes")) {
      String[] ofElements = (String[]) spec.clone();
      ofElements[2] = type.substring(6, type.length() - 1);
      XSkipAccumulator e = new XSkipElements(of(ofElements));
      e.column = Integer.parseInt(spec[1]);
      return e;
    }
    int kind = kind(type), cap = Integer.parseInt(spec[3]);
    XSkipAccumulator a = spec[0].equals("hashes") ? (XSkipAccumulator) new XSkipHashes(cap, Double.parseDouble(spec[4]))
        : spec[0].equals("counts") ? (XSkipAccumulator) new XSkipCounts()
        : spec[0].equals("words") ? (XSkipAccumulator) new XSkipWords(cap, Double.parseDouble(spec[4]))
        : spec[0].equals("ranges") ? (XSkipAccumulator) new XSkipRanges(cap)
        : spec[0].equals("boxes") ? (XSkipAccumulator) new XSkipBoxes(cap)
        : spec[0].equals("values") ? (XSkipAccumulator) (kind <= DOUBLE ? new XSkipNumberValues(cap) : new XSkipObjectValues(cap))
        : kind <= LONG ? (XSkipAccumulator) new XSkipLongBounds() : kind <= DOUBLE ? new XSkipDoubleBounds() : new XSkipObjectBounds();
    a.column = Integer.parseInt(spec[1]); a.kind = kind;
    if (kind == DECIMAL) {
      String[] digits = type.substring(8, type.length() - 1).split(",");
      a.precision = Integer.parseInt(digits[0].trim()); a.scale = Integer.parseInt(digits[1].trim());
    }
    return a;
  }
  private static int kind(String type) {
    String[] names = {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"};
    int k = Arrays.asList(names).indexOf(type.equals("array<double>") ? "double" : type);
    if (k < 0 && !type.startsWith("decimal(")) throw new IllegalArgumentException(type);
    return k < 0 ? DECIMAL : k;
  }
  long number(SpecializedGetters r, int at) {
    switch (kind) {
      case BOOLEAN: return r.getBoolean(at) ? 1L : 0L;
      case BYTE: return r.getByte(at);
      case SHORT: return r.getShort(at);
      case INT: return r.getInt(at);
      default: return r.getLong(at);
    }
  }
  Object boxed(long v) {
    switch (kind) {
      case BOOLEAN: return v == 1L ? Boolean.TRUE : Boolean.FALSE;
      case BYTE: return new Byte((byte) v);
      case SHORT: return new Short((short) v);
      case INT: return new Integer((int) v);
      case LONG: return new Long(v);
      case FLOAT: return new Float((float) Double.longBitsToDouble(v));
      default: return new Double(Double.longBitsToDouble(v));
    }
  }
  double real(SpecializedGetters r, int at) { return kind == FLOAT ? r.getFloat(at) : r.getDouble(at); }
  /** A string's memory is the row's, and the row is reused: what is kept is copied. */
  Object value(SpecializedGetters r, int at) {
    return kind == STRING ? (Object) r.getUTF8String(at) : kind == BINARY ? (Object) r.getBinary(at) : r.getDecimal(at, precision, scale);
  }
  static Object kept(Object v) { return v instanceof UTF8String ? ((UTF8String) v).clone() : v; }
  /** Spark's order: bytes unsigned, strings by their bytes. */
  static int compare(Object a, Object b) {
    if (a instanceof UTF8String) return ((UTF8String) a).compareTo((UTF8String) b);
    return a instanceof byte[] ? Arrays.compareUnsigned((byte[]) a, (byte[]) b) : ((Decimal) a).compare((Decimal) b);
  }
}

/** The elements of an array, each for itself. */
class XSkipElements extends XSkipAccumulator {
  private final XSkipAccumulator each;
  XSkipElements(XSkipAccumulator each) { this.each = each; }
  int width() { return each.width(); }
  void reset() { each.reset(); }
  void add(SpecializedGetters r, int at) {
    ArrayData a = r.getArray(at);
    for (int i = 0, n = a.numElements(); i < n; i++) if (!a.isNullAt(i)) each.add(a, i);
  }
  void emit(Object[] out, int at, boolean whole) { each.emit(out, at, whole); }
}

class XSkipCounts extends XSkipAccumulator {
  private long nulls, values;
  int width() { return 2; }
  void reset() { nulls = 0; values = 0; }
  void add(SpecializedGetters r, int at) { values++; }
  void none() { nulls++; }
  void emit(Object[] out, int at, boolean whole) { out[at] = new Long(nulls); out[at + 1] = new Long(nulls + values); }
}

class XSkipLongBounds extends XSkipAccumulator {
  private long low, high; private boolean any;
  int width() { return 2; }
  void reset() { any = false; }
  void add(SpecializedGetters r, int at) {
    long v = number(r, at);
    if (!any) { low = v; high = v; any = true; } else if (v < low) low = v; else if (v > high) high = v;
  }
  void emit(Object[] out, int at, boolean whole) { if (any) { out[at] = boxed(low); out[at + 1] = boxed(high); } }
}

/** Spark's order: NaN above all and equal to itself, -0.0 equal to 0.0. */
class XSkipDoubleBounds extends XSkipAccumulator {
  private double low, high; private boolean any;
  int width() { return 2; }
  void reset() { any = false; }
  private static boolean below(double a, double b) { return a < b || b != b && a == a; }
  void add(SpecializedGetters r, int at) {
    double v = real(r, at);
    if (!any) { low = v; high = v; any = true; }
    else { if (below(v, low)) low = v; if (below(high, v)) high = v; }
  }
  void emit(Object[] out, int at, boolean whole) {
    if (any) { out[at] = boxed(Double.doubleToLongBits(low)); out[at + 1] = boxed(Double.doubleToLongBits(high)); }
  }
}

class XSkipObjectBounds extends XSkipAccumulator {
  private Object low, high;
  int width() { return 2; }
  void reset() { low = null; high = null; }
  void add(SpecializedGetters r, int at) {
    Object v = value(r, at);
    if (low == null) { low = kept(v); high = low; }
    else if (compare(v, low) < 0) low = kept(v);
    else if (compare(v, high) > 0) high = kept(v);
  }
  void emit(Object[] out, int at, boolean whole) { out[at] = low; out[at + 1] = high; }
}

/** A set of longs, open addressing; 0 stands for an empty slot and is kept apart. */
class XSkipLongs {
  private static final int SMALL = 4096;
  private long[] table = new long[SMALL]; private int size; private boolean zero;
  /** As large as the set was, for the next is mostly alike; a table that was far too large shrinks. */
  void clear() {
    if (table.length > SMALL && size * 8L < table.length) table = new long[table.length / 4]; else Arrays.fill(table, 0L);
    size = 0; zero = false;
  }
  int size() { return zero ? size + 1 : size; }
  void add(long v) {
    if (v == 0L) { zero = true; return; }
    if (!put(table, v)) return;
    if (++size * 2L > table.length) {
      long[] bigger = new long[table.length * 2];
      for (int i = 0; i < table.length; i++) if (table[i] != 0L) put(bigger, table[i]);
      table = bigger;
    }
  }
  private static boolean put(long[] t, long v) {
    long h = v * 0x9E3779B97F4A7C15L;
    int mask = t.length - 1, k = (int) (h >>> 32) & mask;
    while (t[k] != 0L) { if (t[k] == v) return false; k = (k + 1) & mask; }
    t[k] = v;
    return true;
  }
  long[] values() {
    long[] r = new long[size()];
    int n = 0;
    for (int i = 0; i < table.length; i++) if (table[i] != 0L) r[n++] = table[i];
    return r;                                       // the last element is 0 where 0 is in the set
  }
}

/** Distinct numbers; null beyond the cap. */
class XSkipNumberValues extends XSkipAccumulator {
  private final XSkipLongs set = new XSkipLongs(); private final int cap; private boolean over;
  XSkipNumberValues(int cap) { this.cap = cap; }
  int width() { return 1; }
  void reset() { set.clear(); over = false; }
  void add(SpecializedGetters r, int at) {
    if (over) return;
    if (kind >= FLOAT) {
      double v = real(r, at);
      set.add(Double.doubleToLongBits(v == 0.0 ? 0.0 : v));   // one zero, one NaN
    } else set.add(number(r, at));
    if (set.size() > cap) { over = true; set.clear(); }
  }
  void emit(Object[] out, int at, boolean whole) {
    if (over) return;
    long[] v = set.values();
    Object[] boxed = new Object[v.length];
    for (int i = 0; i < v.length; i++) boxed[i] = boxed(v[i]);
    out[at] = new GenericArrayData(boxed);
  }
}

/** Distinct strings, binaries or decimals; null beyond the cap. */
class XSkipObjectValues extends XSkipAccumulator {
  private final HashMap set = new HashMap();         // each value -> itself, as it is kept
  private final UTF8String[] recent = new UTF8String[64];   // strings of the set, by their first bytes: most come again soon
  private final long[] firsts = new long[64];
  private final int cap; private boolean over;
  XSkipObjectValues(int cap) { this.cap = cap; }
  int width() { return 1; }
  void reset() { set.clear(); over = false; Arrays.fill(recent, null); }
  void add(SpecializedGetters r, int at) {
    if (over) return;
    if (kind == BINARY) keep(ByteBuffer.wrap(r.getBinary(at)));
    else if (kind == DECIMAL) keep(value(r, at));
    else if (r instanceof UnsafeRow) {                // its memory is padded to whole words
      UnsafeRow row = (UnsafeRow) r;
      long place = row.getLong(at), offset = row.getBaseOffset() + (place >>> 32);
      add(row.getBaseObject(), offset, (int) place, (int) place == 0 ? 0L : Platform.getLong(row.getBaseObject(), offset));
    } else {
      UTF8String s = r.getUTF8String(at);
      add(s.getBaseObject(), s.getBaseOffset(), s.numBytes(), s.getPrefix());
    }
    if (set.size() > cap) { over = true; set.clear(); }
  }
  /** A string, of which an object is made only if it did not just come; first: its 8 first bytes, padded where it has fewer. */
  private void add(Object base, long offset, int n, long first) {
    int slot = (int) ((first + n) * 0x9E3779B97F4A7C15L >>> 58);
    UTF8String s = recent[slot];
    boolean same = s != null && firsts[slot] == first && s.numBytes() == n;
    if (same && (n <= 8 || ByteArrayMethods.arrayEquals(base, offset, s.getBaseObject(), s.getBaseOffset(), n))) return;
    recent[slot] = (UTF8String) keep(UTF8String.fromAddress(base, offset, n));
    firsts[slot] = first;
  }
  private Object keep(Object v) {
    Object known = set.get(v);
    if (known == null) { known = kept(v); set.put(known, known); }
    return known;
  }
  void emit(Object[] out, int at, boolean whole) {
    if (over) return;
    Object[] v = set.keySet().toArray();
    for (int i = 0; i < v.length; i++) if (v[i] instanceof ByteBuffer) v[i] = ((ByteBuffer) v[i]).array();
    out[at] = new GenericArrayData(v);
  }
}
