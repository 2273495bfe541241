package io.xskip.snapshot;

import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/** Consecutive files of a listing, which one thread looks up. */
final class ListingSlice {
  /** The number of files of each slice but the last. */
  static final int SIZE = 1 << 13;

  /** Objects, because a cast loads the file from memory, and only the look-up needs its fields. */
  private final Object[] files;

  private final int[] partitions;
  private final boolean[] keeps;
  private boolean[] moves = null;
  private final FileOrdinals ordinals;
  private final PruningCounts counts = new PruningCounts();

  ListingSlice(int size, FileOrdinals ordinals) {
    files = new Object[size];
    partitions = new int[size];
    keeps = new boolean[size];
    this.ordinals = ordinals;
  }

  /**
   * Sets the file at a position, and its partition in the snapshot.
   *
   * @param file a {@code FileStatusWithMetadata}
   */
  void set(int i, Object file, int partition) {
    files[i] = file;
    partitions[i] = partition;
  }

  int size() {
    return files.length;
  }

  FileStatus file(int i) {
    return ((FileStatusWithMetadata) files[i]).fileStatus();
  }

  /** Returns the {@code FileStatusWithMetadata} at a position. */
  Object listed(int i) {
    return files[i];
  }

  int partition(int i) {
    return partitions[i];
  }

  FileOrdinals ordinals() {
    return ordinals;
  }

  PruningCounts counts() {
    return counts;
  }

  /** Returns whether the query reads the file at a position. */
  boolean keeps(int i) {
    return keeps[i];
  }

  /** Returns whether the query lists the file with other partition values than the snapshot. */
  boolean moves(int i) {
    return moves != null && moves[i];
  }

  /** Sets and counts whether the query reads the file at a position. */
  void decide(int i, boolean isKnown, boolean isKept, boolean isMoved) {
    if (isMoved) {
      moves = moves == null ? new boolean[keeps.length] : moves;
      moves[i] = true;
    }
    keeps[i] = isKept;
    counts.add(file(i).getLen(), isKnown, isKept);
  }
}
