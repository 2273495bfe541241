package io.xskip.snapshot;

import io.xskip.catalyst.ValueEncoder;
import io.xskip.common.RootNames;
import io.xskip.protocol.Answer;
import io.xskip.protocol.AnswerRanges;
import io.xskip.protocol.FileTable;
import io.xskip.shims.Scala;
import io.xskip.tasks.RangedFiles;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Python's answer to a request: the files that the query does not need to read. An answer keeps a
 * file that the snapshot does not have with the file's length and time. An answer that depends on
 * partition values also keeps a file that the query lists with other partition values than the
 * snapshot.
 */
public final class PruningAnswer {
  private final FileSnapshot snapshot;

  /** The names of the root, or null if it has only one. */
  private final RootNames names;

  private final Answer bits;

  /** The bytes between two ranges of a file from which on the query does not read them. */
  private final long leastGap;

  private final PruningCounts counts = new PruningCounts();

  /** The files to which {@link #keeps} was applied, by their ordinals; null before the first. */
  private BitSet unlistedOrdinals = null;

  /** The latest filter of a listing, whose files have their ordinals, or null. */
  private ListingFilter lastFilter = null;

  /** The files to which {@link #filter} was applied; null before the first listing. */
  private FileOrdinals[] filtered = null;

  private PruningAnswer(FileSnapshot snapshot, RootNames names, Answer bits, long leastGap) {
    this.leastGap = leastGap;
    this.snapshot = snapshot;
    this.names = names;
    this.bits = bits;
  }

  /**
   * Applies an answer to the files of a snapshot.
   *
   * @param snapshot the present snapshot of the index, or null
   * @param names the names of the root, or null if it has only one
   * @param leastGap the bytes between two ranges of a file from which on the query does not read
   *     them
   */
  public static PruningAnswer of(
      Answer answer, FileSnapshot snapshot, RootNames names, long leastGap) {
    Answer usable =
        snapshot == null ? Answer.NONE : answer.about(snapshot.token(), snapshot.count());
    return new PruningAnswer(snapshot, names, usable, leastGap);
  }

  /** Returns how many indexes the answer is based on; 0 if it keeps all files. */
  public int indexes() {
    return bits.indexes();
  }

  /** Returns the counts of all files to which the answer was applied. */
  public PruningCounts counts() {
    return counts;
  }

  /** Returns the files to which the answer was applied, for reports. */
  public ListedFiles files() {
    return new ListedFiles(unlistedOrdinals, filtered, names, bits);
  }

  /** Returns whether the answer is about the files of the snapshot with a token. */
  public boolean isOf(long token) {
    return snapshot != null && snapshot.token() == token;
  }

  /**
   * Returns whether the query reads a file of the snapshot, with the partition values of the
   * snapshot, and counts the file.
   */
  public boolean keeps(int ordinal, long length) {
    boolean isKept = !bits.skips(ordinal);
    counts.add(length, true, isKept);
    note(ordinal);
    return isKept;
  }

  private void note(int ordinal) {
    if (unlistedOrdinals == null) {
      unlistedOrdinals = new BitSet(snapshot.count());
    }
    unlistedOrdinals.set(ordinal);
  }

  /**
   * Returns the ordinals of the files of a table that is not of the snapshot.
   *
   * @param latest the ordinals for an earlier answer, or null
   */
  public TableOrdinals ordinals(FileTable files, TableOrdinals latest) {
    boolean isReusable = snapshot == null || (latest != null && latest.isOf(snapshot.token()));
    return isReusable ? latest : TableOrdinals.of(files, snapshot);
  }

  /**
   * Returns for each row of partition values the partition of the snapshot, as {@link #partition}
   * does.
   */
  public int[] partitions(InternalRow[] values, StructType schema) {
    int[] partitions = new int[values.length];
    for (int i = 0; i < values.length; i++) {
      partitions[i] = partition(values[i], schema);
    }
    return partitions;
  }

  /**
   * Returns whether the query reads a file of a table, and counts the file.
   *
   * @param ordinals the result of {@link #ordinals}
   * @param partition the file's element of the result of {@link #partitions}
   */
  public boolean keeps(TableOrdinals ordinals, int i, long length, int partition) {
    int ordinal = snapshot == null ? FileOrdinals.UNKNOWN : ordinals.of(i);
    boolean isKept = reads(ordinal, partition);
    counts.add(length, ordinal != FileOrdinals.UNKNOWN, isKept);
    if (ordinal != FileOrdinals.UNKNOWN) {
      note(ordinal);
    }
    return isKept;
  }

  /**
   * Returns the directories of a listing with the files that the query reads, and counts all files.
   * Several threads look up the files of a long listing.
   *
   * @param schema the partition columns of the listing
   */
  public Seq<PartitionDirectory> filter(Seq<PartitionDirectory> directories, StructType schema) {
    List<Integer> partitions = new ArrayList<>();
    scala.collection.Iterator<?> iterator = directories.iterator();
    while (iterator.hasNext()) {
      InternalRow values = ((PartitionDirectory) iterator.next()).values();
      partitions.add(Integer.valueOf(partition(values, schema)));
    }
    ListingFilter filter = new ListingFilter(directories, partitions, snapshot);
    List<ListingSlice> slices = filter.slices();
    if (slices.size() == 1) {
      lookUp((ListingSlice) slices.get(0));
    } else {
      slices.parallelStream()
          .forEach(
              new Consumer<Object>() {
                @Override
                public void accept(Object slice) {
                  lookUp((ListingSlice) slice);
                }
              });
    }
    filtered = filter.finish(counts);
    lastFilter = snapshot != null && bits.hasFacts() ? filter : null;
    AnswerRanges ranges = snapshot == null ? null : bits.ranges(snapshot.count());
    return ranges == null
        ? filter.kept()
        : withRanges(filter.kept(), filter.keptOrdinals(), ranges);
  }

  /**
   * Returns the directories of a listing to which the answer was applied, with the ranges that the
   * query needs of the files.
   *
   * @param schema the partition columns of the listing
   */
  public Seq<PartitionDirectory> withRanges(Seq<PartitionDirectory> left, StructType schema) {
    AnswerRanges ranges = snapshot == null ? null : bits.ranges(snapshot.count());
    return ranges == null ? left : withRanges(left, ordinals(left, schema, count(left)), ranges);
  }

  /** Returns the directories of kept files with the ranges that the query needs of the files. */
  private Seq<PartitionDirectory> withRanges(
      Seq<PartitionDirectory> left, int[] ordinals, AnswerRanges ranges) {
    List<PartitionDirectory> directories = new ArrayList<>();
    int position = 0;
    for (PartitionDirectory directory : Scala.list(left)) {
      List<FileStatusWithMetadata> files = new ArrayList<>();
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        int ordinal = ordinals[position];
        long[] found = ordinal == FileOrdinals.UNKNOWN ? null : ranges.of(ordinal);
        files.add(found == null ? file : withRanges(file, found));
        position++;
      }
      directories.add(
          new PartitionDirectory(
              directory.values(), (Seq<FileStatusWithMetadata>) Scala.seq(files)));
    }
    return (Seq<PartitionDirectory>) Scala.seq(directories);
  }

  private FileStatusWithMetadata withRanges(FileStatusWithMetadata file, long[] ranges) {
    FileStatusWithMetadata kept = RangedFiles.with(file, ranges, leastGap);
    counts.leaveOut(file.fileStatus().getLen() - RangedFiles.bytes(kept));
    return kept;
  }

  /** Returns whether the answer has ranges of files. */
  public boolean hasRanges() {
    return bits.hasRanges();
  }

  /**
   * Returns the partition of the snapshot with these values; a negative number if there is none, or
   * if the answer does not depend on partition values.
   */
  private int partition(InternalRow values, StructType schema) {
    return bits.usesPartitions() ? snapshot.partition(ValueEncoder.row(values, schema)) : -1;
  }

  /** Looks up the files of a slice and decides which of them the query reads. */
  private void lookUp(ListingSlice slice) {
    for (int i = 0; i < slice.size(); i++) {
      FileStatus file = slice.file(i);
      int ordinal = ordinal(slice.ordinals(), i, file);
      int partition = slice.partition(i);
      boolean isMoved = ordinal != FileOrdinals.UNKNOWN && isMoved(ordinal, partition);
      slice.decide(i, ordinal != FileOrdinals.UNKNOWN, reads(ordinal, partition), isMoved);
    }
  }

  /**
   * Returns what the answer says of the files of a listing, or null if it says nothing.
   *
   * @param schema the partition columns of the listing
   */
  public FileFacts facts(Seq<PartitionDirectory> directories, StructType schema) {
    AnswerRanges units = snapshot == null ? null : bits.units(snapshot.count());
    if (units == null) {
      return null;
    }
    int count = count(directories);
    int[] known = lastFilter == null ? null : lastFilter.keptOrdinals();
    if (known == null || known.length != count) {
      known = ordinals(directories, schema, count);
    }
    return new FileFacts(directories, bits, units, known, leastGap);
  }

  private static int count(Seq<PartitionDirectory> directories) {
    int count = 0;
    for (PartitionDirectory directory : Scala.list(directories)) {
      count += directory.files().length();
    }
    return count;
  }

  /** Returns the ordinals in the snapshot of the files of a listing. */
  private int[] ordinals(Seq<PartitionDirectory> directories, StructType schema, int count) {
    int[] ordinals = new int[count];
    int position = 0;
    int last = -1;
    for (PartitionDirectory directory : Scala.list(directories)) {
      int partition = partition(directory.values(), schema);
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        int ordinal = snapshot.ordinal(file.fileStatus(), last + 1, names);
        last = ordinal;
        boolean isKnown = ordinal != FileOrdinals.UNKNOWN && !isMoved(ordinal, partition);
        ordinals[position] = isKnown ? ordinal : FileOrdinals.UNKNOWN;
        position++;
      }
    }
    return ordinals;
  }

  /** Returns the ordinal of a file of a listing, see {@link FileSnapshot#ordinal}. */
  private int ordinal(FileOrdinals ordinals, int i, FileStatus file) {
    if (snapshot == null) {
      return FileOrdinals.UNKNOWN;
    }
    if (!ordinals.isOf(i, file)) {
      ordinals.set(i, file, snapshot.ordinal(file, ordinals.guess(), names));
    }
    return ordinals.all()[i];
  }

  /**
   * Returns whether the query reads a file.
   *
   * @param ordinal the ordinal of the file in the snapshot, or {@link FileOrdinals#UNKNOWN}
   * @param partition the partition of the snapshot with the values that the query lists for the
   *     file
   */
  private boolean reads(int ordinal, int partition) {
    return ordinal == FileOrdinals.UNKNOWN || isMoved(ordinal, partition) || !bits.skips(ordinal);
  }

  /** Returns whether the query lists a file with other partition values than the snapshot. */
  private boolean isMoved(int ordinal, int partition) {
    return bits.usesPartitions() && snapshot.partitionOf(ordinal) != partition;
  }
}
