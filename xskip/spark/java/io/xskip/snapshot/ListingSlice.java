package io.xskip.snapshot;

import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/** A stretch of a listing, which one thread looks up. */
public class ListingSlice {
  static final int SIZE = 1 << 13;
  final boolean[] keeps;
  final int[] partitions;
  final FileOrdinals ordinals;
  final PruningCounts counts = new PruningCounts();
  private final Object[] files;

  ListingSlice(int size, FileOrdinals ordinals) {
    keeps = new boolean[size];
    partitions = new int[size];
    files = new Object[size];
    this.ordinals = ordinals;
  }

  void set(int i, Object file, int partition) {
    files[i] = file;
    partitions[i] = partition;
  }

  FileStatus file(int i) {
    return ((FileStatusWithMetadata) files[i]).fileStatus();
  }
}
