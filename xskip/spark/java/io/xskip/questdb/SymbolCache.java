package io.xskip.questdb;

import java.lang.ref.SoftReference;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The symbols of the columns that were read last, as long as the JVM needs no memory for others.
 */
final class SymbolCache {
  private static final int MAX_COLUMNS = 16;
  private static final float LOAD_FACTOR = 0.75f;
  private static final Map<String, SoftReference<Symbols>> KNOWN =
      new LinkedHashMap<>(MAX_COLUMNS, LOAD_FACTOR, true);

  private SymbolCache() {}

  /** Returns the symbols with a key, or null. */
  static Symbols get(String key) {
    synchronized (KNOWN) {
      SoftReference<Symbols> known = (SoftReference<Symbols>) KNOWN.get(key);
      return known == null ? null : (Symbols) known.get();
    }
  }

  static void put(String key, Symbols symbols) {
    synchronized (KNOWN) {
      KNOWN.put(key, new SoftReference<Symbols>(symbols));
      if (KNOWN.size() > MAX_COLUMNS) {
        KNOWN.remove(KNOWN.keySet().iterator().next());
      }
    }
  }
}
