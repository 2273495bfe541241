package io.xskip.collect;

import java.util.Arrays;

/** A set of longs: a hash table with open addressing. */
final class LongSet {
  private static final int LEAST_CAPACITY = 4096;

  // the multiplier of Fibonacci hashing: 2^64 divided by the golden ratio
  static final long MULTIPLIER = 0x9E3779B97F4A7C15L;

  private long[] table = new long[LEAST_CAPACITY]; // the values except 0, which is an empty slot
  private int used; // the number of values in the table
  private boolean hasZero;

  /**
   * Removes all values, and keeps the capacity for the next file unless the values needed only a
   * small part of it.
   */
  void clear() {
    if (table.length > LEAST_CAPACITY && used * 8L < table.length) {
      table = new long[table.length / 4];
    } else {
      Arrays.fill(table, 0L);
    }
    used = 0;
    hasZero = false;
  }

  int size() {
    return hasZero ? used + 1 : used;
  }

  void add(long value) {
    if (value == 0L) {
      hasZero = true;
      return;
    }
    if (!insert(table, value)) {
      return;
    }
    used++;
    if (used * 2L > table.length) {
      long[] larger = new long[table.length * 2];
      for (long present : table) {
        if (present != 0L) {
          insert(larger, present);
        }
      }
      table = larger;
    }
  }

  /** Inserts a value other than 0, and returns whether the table lacked the value. */
  private static boolean insert(long[] table, long value) {
    int mask = table.length - 1;
    int slot = (int) ((value * MULTIPLIER) >>> 32) & mask;
    while (table[slot] != 0L) {
      if (table[slot] == value) {
        return false;
      }
      slot = (slot + 1) & mask;
    }
    table[slot] = value;
    return true;
  }

  /** Returns the values, in no particular order. */
  long[] values() {
    long[] values = new long[size()];
    int count = 0;
    for (long value : table) {
      if (value != 0L) {
        values[count] = value;
        count++;
      }
    }
    return values; // if the set has the value 0, the last element is 0
  }
}
