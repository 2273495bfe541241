package io.xskip.snapshot;

import io.xskip.common.PathHash;
import io.xskip.common.RootNames;
import io.xskip.protocol.FileTable;
import java.lang.ref.SoftReference;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;

/**
 * The files of an index: a hash table from a file to its ordinal, the position of the file's bit in
 * an answer of Python. The table holds no paths, only two hashes of each path, and the file's
 * length and modification time: a file that has changed is not in the snapshot.
 */
public final class FileSnapshot {
  /** The partition of values that no file of the snapshot has. */
  static final int NO_PARTITION = -2;

  // A row of four numbers per file
  private static final int HASH = 0;
  private static final int SECOND_HASH = 1;
  private static final int LENGTH = 2;
  private static final int TIME = 3;
  private static final int WIDTH = 4;

  private static final long UNKNOWN_LENGTH = -1L;

  private static final int EMPTY = -1;
  private static final int MIN_CAPACITY = 16;

  private final long token;
  private final int count;

  /** The numbers that a look-up compares: those of a file lie together in memory. */
  private final long[] rows;

  /** The ordinals, by open addressing with linear probing; at most half of the slots are in use. */
  private final int[] slots;

  private final int mask;
  private final boolean hasParts;
  private final int[] partitionOf;
  private final Map<String, Integer> partitions = new HashMap<>();
  private volatile SoftReference<FileOrdinals[]> ordinals = null;

  /**
   * Creates a snapshot without files. The caller adds the files with {@link #put} and {@link
   * #putPartition}.
   *
   * @param token the number of the snapshot, which answers of Python repeat
   * @param count the number of files
   */
  FileSnapshot(long token, int count) {
    this(token, count, false);
  }

  private FileSnapshot(long token, int count, boolean hasParts) {
    this.hasParts = hasParts;
    this.token = token;
    this.count = count;
    rows = new long[WIDTH * count];
    partitionOf = new int[count];
    int capacity = MIN_CAPACITY;
    while (capacity < count * 2L) {
      capacity <<= 1;
    }
    slots = new int[capacity];
    Arrays.fill(slots, EMPTY);
    mask = capacity - 1;
  }

  /**
   * Creates a snapshot of the files of a table.
   *
   * @param hasParts whether answers can have ranges of files
   */
  public FileSnapshot(long token, FileTable files, boolean hasParts) {
    this(token, files.count(), hasParts);
    for (int i = 0; i < count; i++) {
      long hash = files.pathHash(i, PathHash.SEED);
      put(i, hash, files.pathHash(i, PathHash.SECOND_SEED), files.length(i), files.time(i));
      partitionOf[i] = files.partition(i);
    }
    String[] partitionValues = files.partitionValues();
    for (int i = 0; i < partitionValues.length; i++) {
      partitions.put(partitionValues[i], Integer.valueOf(i));
    }
  }

  /** Returns whether answers can have ranges of files. */
  public boolean hasParts() {
    return hasParts;
  }

  long token() {
    return token;
  }

  int count() {
    return count;
  }

  /**
   * Adds a file. Of several files with equal numbers, look-ups return the first.
   *
   * @param hash {@code xxhash64(path)}
   * @param secondHash {@code xxhash64('xskip', path)}
   * @param length the file's length, -1 if unknown
   */
  void put(int ordinal, long hash, long secondHash, long length, long time) {
    int row = WIDTH * ordinal;
    rows[row + HASH] = hash;
    rows[row + SECOND_HASH] = secondHash;
    rows[row + LENGTH] = length;
    rows[row + TIME] = time;
    int slot = slot(hash, length, time);
    while (slots[slot] != EMPTY) {
      if (hasEqualRows(slots[slot], ordinal)) {
        return;
      }
      slot = (slot + 1) & mask;
    }
    slots[slot] = ordinal;
  }

  /** Sets the partition of a file by its values as a JSON array. */
  void putPartition(int ordinal, String values) {
    Integer partition = (Integer) partitions.get(values);
    if (partition == null) {
      partition = Integer.valueOf(partitions.size());
      partitions.put(values, partition);
    }
    partitionOf[ordinal] = partition.intValue();
  }

  /** Returns the partition with these values, a JSON array, or {@link #NO_PARTITION}. */
  int partition(String values) {
    Integer partition = (Integer) partitions.get(values);
    return partition == null ? NO_PARTITION : partition.intValue();
  }

  /** Returns the partition of a file. */
  int partitionOf(int ordinal) {
    return partitionOf[ordinal];
  }

  /** Returns the ordinals of the latest listing, or null. */
  FileOrdinals[] ordinals() {
    SoftReference<FileOrdinals[]> reference = ordinals;
    return reference == null ? null : (FileOrdinals[]) reference.get();
  }

  /** Remembers the ordinals of a listing while memory suffices. */
  void remember(FileOrdinals[] latest) {
    ordinals = new SoftReference<>(latest);
  }

  /**
   * Returns the ordinal of a file, or {@link FileOrdinals#UNKNOWN} if the snapshot does not have
   * the file with its length and time. The snapshot can have a path several times, with different
   * times: any of these can be the file's.
   *
   * @param guess the likely ordinal, which saves the search in the table: the order of most
   *     listings is the order of the snapshot
   * @param names the names of the root, or null if it has only one
   */
  int ordinal(FileStatus file, int guess, RootNames names) {
    String listed = file.getPath().toUri().getPath();
    String name = names == null ? listed : names.recorded(listed);
    byte[] path = name.getBytes(StandardCharsets.UTF_8);
    long hash = PathHash.of(path, 0, path.length, PathHash.SEED);
    long secondHash = PathHash.of(path, 0, path.length, PathHash.SECOND_SEED);
    return ordinal(hash, secondHash, file.getLen(), file.getModificationTime(), guess);
  }

  /** Returns the ordinal of a file of a table, see {@link #ordinal(FileStatus, int, RootNames)}. */
  int ordinal(FileTable files, int i, int guess) {
    long hash = files.pathHash(i, PathHash.SEED);
    long secondHash = files.pathHash(i, PathHash.SECOND_SEED);
    return ordinal(hash, secondHash, files.length(i), files.time(i), guess);
  }

  private int ordinal(long hash, long secondHash, long length, long time, int guess) {
    if (guess < count && matches(guess, hash, secondHash, length, time)) {
      return guess;
    }
    int ordinal = find(hash, secondHash, length, time, length);
    return ordinal == FileOrdinals.UNKNOWN
        ? find(hash, secondHash, length, time, UNKNOWN_LENGTH)
        : ordinal;
  }

  private int find(long hash, long secondHash, long length, long time, long recordedLength) {
    int slot = slot(hash, recordedLength, time);
    while (slots[slot] != EMPTY) {
      if (matches(slots[slot], hash, secondHash, length, time)) {
        return slots[slot];
      }
      slot = (slot + 1) & mask;
    }
    return FileOrdinals.UNKNOWN;
  }

  private boolean matches(int ordinal, long hash, long secondHash, long length, long time) {
    int row = WIDTH * ordinal;
    long recorded = rows[row + LENGTH];
    return rows[row + HASH] == hash
        && rows[row + SECOND_HASH] == secondHash
        && rows[row + TIME] == time
        && (recorded < 0 || recorded == length);
  }

  private boolean hasEqualRows(int first, int second) {
    for (int i = 0; i < WIDTH; i++) {
      if (rows[WIDTH * first + i] != rows[WIDTH * second + i]) {
        return false;
      }
    }
    return true;
  }

  private int slot(long hash, long length, long time) {
    long mixed = hash + 31 * (time + 31 * length) * 0x9E3779B97F4A7C15L;
    return (int) (mixed ^ (mixed >>> 32)) & mask;
  }
}
