package io.xskip.snapshot;

import io.xskip.catalyst.ValueEncoder;
import io.xskip.common.Bytes;
import io.xskip.common.RootNames;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Python's answer to a request: the files that the query does not need to read. The bytes are:
 *
 * <ul>
 *   <li>one byte: {@code 'P'} if the answer depends on partition values, else {@code 'B'}
 *   <li>int64, big-endian: the token of the snapshot that the answer refers to
 *   <li>int32, big-endian: how many indexes the answer is based on
 *   <li>a bitmap, the lowest bit of each byte first: a set bit skips the file with this ordinal
 * </ul>
 *
 * Any other bytes keep all files. An answer keeps a file that the snapshot does not have with the
 * file's length and time. An answer that depends on partition values also keeps a file that the
 * query lists with other partition values than the snapshot.
 */
public final class PruningAnswer {
  private static final int INDEXES = 1 + Long.BYTES;
  private static final int HEADER = INDEXES + Integer.BYTES;

  private final FileSnapshot snapshot;

  /** The names of the root, or null if it has only one. */
  private final RootNames names;

  /** The bytes of the answer; null to keep all files, and if there is no snapshot. */
  private final byte[] bytes;

  private final PruningCounts counts = new PruningCounts();

  /** The files to which {@link #keeps} was applied, by their ordinals; null before the first. */
  private BitSet asked = null;

  /** The files to which {@link #filter} was applied; null before the first listing. */
  private FileOrdinals[] filtered = null;

  private PruningAnswer(FileSnapshot snapshot, RootNames names, byte[] bytes) {
    this.snapshot = snapshot;
    this.names = names;
    this.bytes = bytes;
  }

  /**
   * Parses an answer.
   *
   * @param bytes the answer, or null
   * @param snapshot the present snapshot of the index, or null
   * @param names the names of the root, or null if it has only one
   */
  public static PruningAnswer parse(byte[] bytes, FileSnapshot snapshot, RootNames names) {
    return new PruningAnswer(snapshot, names, isUsable(bytes, snapshot) ? bytes : null);
  }

  private static boolean isUsable(byte[] bytes, FileSnapshot snapshot) {
    return bytes != null
        && bytes.length >= HEADER
        && (bytes[0] == 'B' || bytes[0] == 'P')
        && snapshot != null
        && ByteBuffer.wrap(bytes, 1, Long.BYTES).getLong() == snapshot.token()
        && (bytes.length - HEADER) * 8L >= snapshot.count();
  }

  /** Returns how many indexes the answer is based on; 0 if it keeps all files. */
  public int indexes() {
    return bytes == null ? 0 : ByteBuffer.wrap(bytes, INDEXES, Integer.BYTES).getInt();
  }

  /** Returns the counts of all files to which the answer was applied. */
  public PruningCounts counts() {
    return counts;
  }

  /** Returns the files to which the answer was applied, for reports. */
  public ListedFiles files() {
    return new ListedFiles(asked, filtered, names, bytes);
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
    boolean isKept = !skips(ordinal);
    counts.add(length, true, isKept);
    note(ordinal);
    return isKept;
  }

  private void note(int ordinal) {
    if (asked == null) {
      asked = new BitSet(snapshot.count());
    }
    asked.set(ordinal);
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
    int ordinal = snapshot == null ? FileSnapshot.UNKNOWN : ordinals.of(i);
    boolean isKept = reads(ordinal, partition);
    counts.add(length, ordinal != FileSnapshot.UNKNOWN, isKept);
    if (ordinal != FileSnapshot.UNKNOWN) {
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
    ListingFilter filter = new ListingFilter(directories, snapshot, this, schema);
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
    return filter.kept();
  }

  /**
   * Returns the partition of the snapshot with these values; a negative number if there is none, or
   * if the answer does not depend on partition values.
   */
  int partition(InternalRow values, StructType schema) {
    return usesPartitions() ? snapshot.partition(ValueEncoder.row(values, schema)) : -1;
  }

  /** Looks up the files of a slice and decides which of them the query reads. */
  private void lookUp(ListingSlice slice) {
    for (int i = 0; i < slice.size(); i++) {
      FileStatus file = slice.file(i);
      int ordinal =
          snapshot == null ? FileSnapshot.UNKNOWN : slice.ordinals().of(i, file, snapshot, names);
      slice.decide(i, ordinal != FileSnapshot.UNKNOWN, reads(ordinal, slice.partition(i)));
    }
  }

  /**
   * Returns whether the query reads a file.
   *
   * @param ordinal the ordinal of the file in the snapshot, or {@link FileSnapshot#UNKNOWN}
   * @param partition the partition of the snapshot with the values that the query lists for the
   *     file
   */
  private boolean reads(int ordinal, int partition) {
    boolean isKnown = ordinal != FileSnapshot.UNKNOWN;
    boolean isMoved = isKnown && usesPartitions() && snapshot.partitionOf(ordinal) != partition;
    return !isKnown || isMoved || !skips(ordinal);
  }

  private boolean usesPartitions() {
    return bytes != null && bytes[0] == 'P';
  }

  private boolean skips(int ordinal) {
    return skips(bytes, ordinal);
  }

  /** Returns whether the bytes of an answer, or null, skip a file of the snapshot. */
  static boolean skips(byte[] bytes, int ordinal) {
    return bytes != null && Bytes.isSet(bytes, HEADER, ordinal);
  }
}
