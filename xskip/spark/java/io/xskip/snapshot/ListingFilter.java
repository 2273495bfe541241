package io.xskip.snapshot;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * A listing in slices, which several threads can look up at the same time, and the listing's kept
 * files after the look-up.
 */
final class ListingFilter {
  private final List<ListingSlice> slices = new ArrayList<>();
  private final Seq<PartitionDirectory> directories;
  private final FileSnapshot snapshot;

  /** The ordinals of the latest listing, if this listing had as many files; else null. */
  private FileOrdinals[] latest = null;

  /**
   * Divides a listing into slices.
   *
   * @param partitions the partition of the snapshot with the values of each directory
   * @param snapshot the snapshot of the listing's files, or null
   */
  ListingFilter(
      Seq<PartitionDirectory> directories, List<Integer> partitions, FileSnapshot snapshot) {
    this.directories = directories;
    this.snapshot = snapshot;
    createSlices();
    int position = 0;
    java.util.Iterator<Integer> partitionOf = partitions.iterator();
    scala.collection.Iterator<?> iterator = directories.iterator();
    while (iterator.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) iterator.next();
      int partition = ((Integer) partitionOf.next()).intValue();
      scala.collection.Iterator<?> files = directory.files().iterator();
      while (files.hasNext()) {
        sliceOf(position).set(position % ListingSlice.SIZE, files.next(), partition);
        position++;
      }
    }
  }

  /** Creates empty slices, with the ordinals of the latest listing if it had as many files. */
  private void createSlices() {
    int total = 0;
    scala.collection.Iterator<?> iterator = directories.iterator();
    while (iterator.hasNext()) {
      total += ((PartitionDirectory) iterator.next()).files().length();
    }
    latest = snapshot == null ? null : snapshot.ordinals();
    if (latest != null && FileOrdinals.count(latest) != total) {
      latest = null;
    }
    for (int start = 0; start < total; start += ListingSlice.SIZE) {
      int size = Math.min(ListingSlice.SIZE, total - start);
      FileOrdinals ordinals =
          latest != null ? latest[slices.size()].copyOnWrite() : new FileOrdinals(size);
      slices.add(new ListingSlice(size, ordinals));
    }
  }

  List<ListingSlice> slices() {
    return slices;
  }

  private ListingSlice sliceOf(int position) {
    return (ListingSlice) slices.get(position / ListingSlice.SIZE);
  }

  /**
   * Adds the counts of all slices, and remembers the ordinals, after the look-up.
   *
   * @return the ordinals of the slices; those that the snapshot remembers, if they are the same
   */
  FileOrdinals[] finish(PruningCounts counts) {
    FileOrdinals[] ordinals = new FileOrdinals[slices.size()];
    boolean isChanged = false;
    for (int i = 0; i < ordinals.length; i++) {
      ListingSlice slice = (ListingSlice) slices.get(i);
      counts.add(slice.counts());
      ordinals[i] = slice.ordinals();
      isChanged |= ordinals[i].isChanged();
    }
    if (isChanged && snapshot != null) {
      snapshot.remember(ordinals);
    }
    return isChanged || latest == null ? ordinals : latest;
  }

  /** Returns the directories with their kept files; like Spark, leaves out empty directories. */
  Seq<PartitionDirectory> kept() {
    VectorBuilder<PartitionDirectory> result = new VectorBuilder<>();
    int start = 0;
    scala.collection.Iterator<?> iterator = directories.iterator();
    while (iterator.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) iterator.next();
      int end = start + directory.files().length();
      int keptCount = countKept(start, end);
      if (keptCount > 0) {
        result.$plus$eq(
            keptCount == end - start
                ? directory
                : new PartitionDirectory(directory.values(), keptFiles(start, end)));
      }
      start = end;
    }
    return result.result();
  }

  /**
   * Returns the ordinals of the kept files in their order, of those with their partition values.
   */
  int[] keptOrdinals() {
    int count = 0;
    for (ListingSlice slice : slices) {
      for (int i = 0; i < slice.size(); i++) {
        count += slice.keeps(i) ? 1 : 0;
      }
    }
    int[] ordinals = new int[count];
    int position = 0;
    for (ListingSlice slice : slices) {
      int[] all = slice.ordinals().all();
      for (int i = 0; i < slice.size(); i++) {
        if (slice.keeps(i)) {
          ordinals[position] = slice.moves(i) ? FileOrdinals.UNKNOWN : all[i];
          position++;
        }
      }
    }
    return ordinals;
  }

  private boolean keeps(int position) {
    return sliceOf(position).keeps(position % ListingSlice.SIZE);
  }

  private int countKept(int start, int end) {
    int count = 0;
    for (int position = start; position < end; position++) {
      if (keeps(position)) {
        count++;
      }
    }
    return count;
  }

  @SuppressWarnings("unchecked")
  private Seq<FileStatusWithMetadata> keptFiles(int start, int end) {
    VectorBuilder<Object> result = new VectorBuilder<>();
    for (int position = start; position < end; position++) {
      if (keeps(position)) {
        result.$plus$eq(sliceOf(position).listed(position % ListingSlice.SIZE));
      }
    }
    return (Seq<FileStatusWithMetadata>) (Seq<?>) result.result();
  }
}
