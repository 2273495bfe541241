package io.xskip.collect;

import java.util.Arrays;

/** A set of longs whose bits are well mixed, such as hashes. */
final class DistinctLongs {
  private static final int LEAST_CAPACITY = 4096;

  private static final int PARTITION_SIZE = 2048; // up to which a set has a single partition

  private long[] values = new long[LEAST_CAPACITY];
  private int size = 0;
  private long[] partitioned = new long[LEAST_CAPACITY]; // the values in order of their partitions
  private long[] table = new long[2 * PARTITION_SIZE]; // open addressing, 0 is an empty slot

  void add(long value) {
    if (size == values.length) {
      removeDuplicates();
      if (size > values.length / 2) {
        values = Arrays.copyOf(values, values.length * 2);
      }
    }
    values[size] = value;
    size++;
  }

  void addAll(DistinctLongs others) {
    others.removeDuplicates();
    for (int i = 0; i < others.size; i++) {
      add(others.values[i]);
    }
  }

  /** Returns the distinct values, in no particular order. */
  long[] values() {
    removeDuplicates();
    return Arrays.copyOf(values, size);
  }

  /**
   * Removes all values, and keeps the capacity for the next file unless the values needed only a
   * small part of it.
   */
  void clear() {
    if (values.length > LEAST_CAPACITY && size * 8L < values.length) {
      values = new long[values.length / 4];
      partitioned = new long[LEAST_CAPACITY];
    }
    size = 0;
  }

  // A single hash table of all values would miss the processor's cache at each addition. So new
  // values are appended, and duplicates removed from one partition after the other.
  private void removeDuplicates() {
    int bits = 0;
    while (size >> bits > PARTITION_SIZE) {
      bits++;
    }
    int[] ends = bits == 0 ? new int[] {size} : partition(bits);
    long[] source = bits == 0 ? values : partitioned;
    boolean hasZero = false;
    int start = 0;
    size = 0;
    for (int end : ends) {
      hasZero |= appendDistinct(source, start, end);
      start = end;
    }
    if (hasZero) {
      values[size] = 0L;
      size++;
    }
  }

  /**
   * Copies the values to {@link #partitioned} by the highest bits of their hashes, and returns the
   * end of each partition.
   */
  private int[] partition(int bits) {
    if (partitioned.length < size) {
      partitioned = new long[values.length];
    }
    int[] ends = new int[1 << bits];
    for (int i = 0; i < size; i++) {
      ends[partitionOf(values[i], bits)]++;
    }
    int sum = 0;
    for (int i = 0; i < ends.length; i++) {
      int count = ends[i];
      ends[i] = sum; // the start of the partition; each value moves it towards the end
      sum += count;
    }
    for (int i = 0; i < size; i++) {
      int partition = partitionOf(values[i], bits);
      partitioned[ends[partition]] = values[i];
      ends[partition]++;
    }
    return ends;
  }

  private static int partitionOf(long value, int bits) {
    return (int) ((value * LongSet.MULTIPLIER) >>> (64 - bits));
  }

  /**
   * Appends the distinct values of a partition to {@link #values}, except 0, and returns whether it
   * contains 0.
   */
  private boolean appendDistinct(long[] source, int start, int end) {
    // The source can be the values themselves: the position of an appended value is never beyond
    // the position that the loop reads.
    int capacity = emptyTable(end - start);
    boolean hasZero = false;
    for (int i = start; i < end; i++) {
      long value = source[i];
      if (value == 0L) {
        hasZero = true;
        continue;
      }
      int slot = (int) ((value * LongSet.MULTIPLIER) >>> 16) & (capacity - 1);
      while (table[slot] != 0L && table[slot] != value) {
        slot = (slot + 1) & (capacity - 1);
      }
      if (table[slot] == 0L) {
        table[slot] = value;
        values[size] = value;
        size++;
      }
    }
    return hasZero;
  }

  private int emptyTable(int count) { // returns the length of the part that the count needs
    int capacity = PARTITION_SIZE;
    while (capacity < count * 2) {
      capacity *= 2;
    }
    if (table.length < capacity) {
      table = new long[capacity];
    } else {
      Arrays.fill(table, 0, capacity, 0L);
    }
    return capacity;
  }
}
