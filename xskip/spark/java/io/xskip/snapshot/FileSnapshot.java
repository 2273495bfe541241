package io.xskip.snapshot;

import java.lang.ref.SoftReference;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * Path to ordinal, an open-addressing table without strings: two hashes of the path, length, time.
 */
public class FileSnapshot {
  private static final int HASH = 0, OTHER = 1, LENGTH = 2, TIME = 3, WIDTH = 4;
  // both as Spark's function has them: xxhash64(path), xxhash64('xskip', path)
  private static final long SEED = 42L,
      OTHER_SEED = hash(new byte[] {'x', 's', 'k', 'i', 'p'}, 0, 5, SEED);
  final long token;
  final int n;
  final int[] partitionOf;
  private final HashMap partitions = new HashMap();
  volatile SoftReference memo = null;
  private final long[] rows; // what is compared of one object lies together
  private final int[] table;
  private final int mask;

  public FileSnapshot(long token, int n) {
    this.token = token;
    this.n = n;
    rows = new long[WIDTH * n];
    partitionOf = new int[n];
    int capacity = 16;
    while (capacity < n * 2L) capacity <<= 1;
    table = new int[capacity];
    Arrays.fill(table, -1);
    mask = capacity - 1;
  }

  public FileSnapshot(long token, FileTable objects) {
    this(token, objects.n);
    for (int i = 0; i < n; i++) {
      int start = objects.start(i), size = objects.start(i + 1) - start;
      long h = hash(objects.bytes, start, size, SEED);
      put(i, h, hash(objects.bytes, start, size, OTHER_SEED), objects.length(i), objects.time(i));
      partitionOf[i] = objects.partition(i);
    }
    for (int i = 0; i < objects.texts.length; i++) partitions.put(objects.texts[i], new Integer(i));
  }

  void put(int i, long hash, long other, long length, long time) {
    rows[WIDTH * i + HASH] = hash;
    rows[WIDTH * i + OTHER] = other;
    rows[WIDTH * i + LENGTH] = length;
    rows[WIDTH * i + TIME] = time;
    int k = slot(hash, length, time);
    while (table[k] >= 0) {
      if (isSame(table[k], i)) return; // of a row that stands here often the first is enough
      k = (k + 1) & mask;
    }
    table[k] = i;
  }

  void putPartition(int i, String text) {
    Integer known = (Integer) partitions.get(text);
    if (known == null) partitions.put(text, known = new Integer(partitions.size()));
    partitionOf[i] = known.intValue();
  }

  /** The partition with these values, or -2. */
  int partition(String text) {
    Integer i = (Integer) partitions.get(text);
    return i == null ? -2 : i.intValue();
  }

  private static long hash(byte[] b, int start, int size, long seed) {
    return XXH64.hashUnsafeBytes(b, Platform.BYTE_ARRAY_OFFSET + start, size, seed);
  }

  private boolean isSame(int o, int i) {
    for (int part = 0; part < WIDTH; part++)
      if (rows[WIDTH * o + part] != rows[WIDTH * i + part]) return false;
    return true;
  }

  private int slot(long hash, long length, long time) {
    long h = hash + 31 * (time + 31 * length) * 0x9E3779B97F4A7C15L;
    return (int) (h ^ (h >>> 32)) & mask;
  }

  /**
   * The ordinal, or -1 where the file is not in the snapshot, or with another length or time. A
   * path can stand in the snapshot more than once, with several times: any of them may be the
   * file's. Listings come in the order of the snapshot, mostly: a guess saves the table.
   */
  int ordinal(FileStatus f, int guess) {
    byte[] path = f.getPath().toUri().getPath().getBytes(StandardCharsets.UTF_8);
    long h = hash(path, 0, path.length, SEED), other = hash(path, 0, path.length, OTHER_SEED);
    if (guess < n && is(guess, h, other, f)) return guess;
    int o = find(h, other, f, f.getLen());
    return o >= 0 ? o : find(h, other, f, -1L);
  }

  private int find(long h, long other, FileStatus f, long length) {
    int k = slot(h, length, f.getModificationTime()), o;
    while ((o = table[k]) >= 0) {
      if (is(o, h, other, f)) return o;
      k = (k + 1) & mask;
    }
    return -1;
  }

  private boolean is(int o, long h, long other, FileStatus f) {
    int r = WIDTH * o;
    return rows[r + HASH] == h
        && rows[r + OTHER] == other
        && rows[r + TIME] == f.getModificationTime()
        && (rows[r + LENGTH] < 0 || rows[r + LENGTH] == f.getLen());
  }
}
