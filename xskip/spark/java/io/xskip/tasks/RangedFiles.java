package io.xskip.tasks;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Files of which a query reads only some ranges. A listing states them beside the files, and Spark
 * hands them on to what its tasks read, where they are applied.
 */
public final class RangedFiles {
  /** The name of the ranges among the constant metadata of a file: start, length, start, … */
  private static final String RANGES = "io.xskip.ranges";

  /** Set in a thread while a scan that applies ranges asks for its files. */
  private static final ThreadLocal<Object> TAKEN = new ThreadLocal<>();

  private RangedFiles() {}

  /**
   * Begins that a scan which applies ranges asks for its files in this thread.
   *
   * @return what {@link #end} takes
   */
  public static Object begin() {
    Object before = TAKEN.get();
    TAKEN.set(Boolean.TRUE);
    return before;
  }

  public static void end(Object before) {
    TAKEN.set(before);
  }

  /**
   * Returns a listing for the scan that asks in this thread: without ranges, unless the scan
   * applies them. What takes the place of Spark's scan need not understand them.
   */
  public static Seq<PartitionDirectory> forScan(Seq<PartitionDirectory> directories) {
    if (TAKEN.get() != null) {
      return directories;
    }
    List<PartitionDirectory> whole = new ArrayList<>();
    boolean isChanged = false;
    for (PartitionDirectory directory : Scala.list(directories)) {
      List<FileStatusWithMetadata> files = new ArrayList<>();
      boolean hasRanges = false;
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        hasRanges |= isRanged(file);
        files.add(isRanged(file) ? without(file) : file);
      }
      Seq<FileStatusWithMetadata> kept = (Seq<FileStatusWithMetadata>) Scala.seq(files);
      whole.add(hasRanges ? new PartitionDirectory(directory.values(), kept) : directory);
      isChanged |= hasRanges;
    }
    return isChanged ? (Seq<PartitionDirectory>) Scala.seq(whole) : directories;
  }

  private static FileStatusWithMetadata without(FileStatusWithMetadata file) {
    return new FileStatusWithMetadata(file.fileStatus(), withoutRanges(file.metadata()));
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> withoutRanges(Map<String, Object> metadata) {
    return (Map<String, Object>) (Object) metadata.$minus(RANGES);
  }

  /**
   * Returns a file of a listing with ranges, in their order; or the file itself, if the query had
   * better read it whole.
   *
   * @param ranges the start and the length of each
   * @param leastGap the bytes between two ranges from which on the query does not read them
   */
  @SuppressWarnings("unchecked")
  public static FileStatusWithMetadata with(
      FileStatusWithMetadata file, long[] ranges, long leastGap) {
    long[] joined = joined(ranges, leastGap);
    if (joined.length == 2 && joined[1] == file.fileStatus().getLen()) {
      return file;
    }
    Map<String, Object> metadata =
        (Map<String, Object>) (Object) file.metadata().updated(RANGES, joined);
    return new FileStatusWithMetadata(file.fileStatus(), metadata);
  }

  /** Joins ranges with less than a number of bytes between them. */
  private static long[] joined(long[] ranges, long leastGap) {
    long[] joined = new long[ranges.length];
    int count = 0;
    for (int i = 0; i < ranges.length; i += 2) {
      boolean isNear = count > 0 && ranges[i] - joined[count - 2] - joined[count - 1] < leastGap;
      if (isNear) {
        joined[count - 1] = ranges[i] + ranges[i + 1] - joined[count - 2];
      } else {
        joined[count] = ranges[i];
        joined[count + 1] = ranges[i + 1];
        count += 2;
      }
    }
    return Arrays.copyOf(joined, count);
  }

  /** Returns the number of bytes that a query reads of a file of a listing. */
  public static long bytes(FileStatusWithMetadata file) {
    Option<?> found = file.metadata().get(RANGES);
    if (found.isEmpty()) {
      return file.fileStatus().getLen();
    }
    long[] ranges = (long[]) found.get();
    long bytes = 0;
    for (int i = 1; i < ranges.length; i += 2) {
      bytes += ranges[i];
    }
    return bytes;
  }

  /** Returns whether a query reads only ranges of a file of a listing. */
  public static boolean isRanged(FileStatusWithMetadata file) {
    return file.metadata().contains(RANGES);
  }

  /** Returns a text that is equal for equal ranges of a file of a listing. */
  public static String text(FileStatusWithMetadata file) {
    return isRanged(file) ? Arrays.toString((long[]) file.metadata().get(RANGES).get()) : "";
  }

  /** Returns whether a task reads only ranges of a file. */
  static boolean isRanged(PartitionedFile file) {
    return file.otherConstantMetadataColumnValues().contains(RANGES);
  }

  /** Adds the ranges of what a task reads of a file. */
  static void addRanges(PartitionedFile file, List<PartitionedFile> pieces) {
    Option<?> found = file.otherConstantMetadataColumnValues().get(RANGES);
    long[] ranges = (long[]) found.get();
    long fileEnd = file.start() + file.length();
    for (int i = 0; i < ranges.length; i += 2) {
      long start = Math.max(ranges[i], file.start());
      long end = Math.min(ranges[i] + ranges[i + 1], fileEnd);
      if (start < end) {
        Map<String, Object> metadata = file.otherConstantMetadataColumnValues();
        pieces.add(FileTasks.range(file, start, end - start, file.partitionValues(), metadata));
      }
    }
  }

  /** Returns a piece of a range, for a task. */
  static PartitionedFile piece(PartitionedFile file, long start, long length) {
    Map<String, Object> metadata = withoutRanges(file.otherConstantMetadataColumnValues());
    return FileTasks.range(file, start, length, file.partitionValues(), metadata);
  }

  /** Returns what a task reads of a file, without the ranges. */
  static PartitionedFile whole(PartitionedFile file) {
    return isRanged(file) ? piece(file, file.start(), file.length()) : file;
  }
}
