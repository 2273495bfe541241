package io.xskip.collect;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/** Distinct strings, binaries or decimals; null beyond the cap. */
public class ObjectValues extends Accumulator {
  private final HashMap set = new HashMap(); // each value -> itself, as it is kept
  private final UTF8String[] recent =
      new UTF8String[64]; // strings of the set, by their first bytes: most come again soon
  private final long[] firsts = new long[64];
  private final int cap;
  private boolean over;

  ObjectValues(int cap) {
    this.cap = cap;
  }

  int width() {
    return 1;
  }

  void reset() {
    set.clear();
    over = false;
    Arrays.fill(recent, null);
  }

  void add(SpecializedGetters r, int at) {
    if (over) return;
    if (kind == BINARY) keep(ByteBuffer.wrap(r.getBinary(at)));
    else if (kind == DECIMAL) keep(value(r, at));
    else if (r instanceof UnsafeRow) { // its memory is padded to whole words
      UnsafeRow row = (UnsafeRow) r;
      long place = row.getLong(at), offset = row.getBaseOffset() + (place >>> 32);
      add(
          row.getBaseObject(),
          offset,
          (int) place,
          (int) place == 0 ? 0L : Platform.getLong(row.getBaseObject(), offset));
    } else {
      UTF8String s = r.getUTF8String(at);
      add(s.getBaseObject(), s.getBaseOffset(), s.numBytes(), s.getPrefix());
    }
    if (set.size() > cap) {
      over = true;
      set.clear();
    }
  }

  /**
   * A string, of which an object is made only if it did not just come; first: its 8 first bytes,
   * padded where it has fewer.
   */
  private void add(Object base, long offset, int n, long first) {
    int slot = (int) ((first + n) * 0x9E3779B97F4A7C15L >>> 58);
    UTF8String s = recent[slot];
    boolean same = s != null && firsts[slot] == first && s.numBytes() == n;
    if (same
        && (n <= 8
            || ByteArrayMethods.arrayEquals(base, offset, s.getBaseObject(), s.getBaseOffset(), n)))
      return;
    recent[slot] = (UTF8String) keep(UTF8String.fromAddress(base, offset, n));
    firsts[slot] = first;
  }

  private Object keep(Object v) {
    Object known = set.get(v);
    if (known == null) {
      known = kept(v);
      set.put(known, known);
    }
    return known;
  }

  void emit(Object[] out, int at, boolean whole) {
    if (over) return;
    Object[] v = set.keySet().toArray();
    for (int i = 0; i < v.length; i++)
      if (v[i] instanceof ByteBuffer) v[i] = ((ByteBuffer) v[i]).array();
    out[at] = new GenericArrayData(v);
  }
}
