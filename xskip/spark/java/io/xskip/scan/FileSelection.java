package io.xskip.scan;

import io.xskip.shims.Scala;
import io.xskip.snapshot.FileFacts;
import io.xskip.tasks.RangedFiles;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Seq;

/**
 * The files, and parts of files, that suffice for the result of a query, among those that its scan
 * would read. They were chosen while Spark optimized the query.
 */
public final class FileSelection {
  /** What a query depends on beside the selected rows. */
  public enum Kind {
    /** Nothing: the rows suffice, whatever other files have. */
    SUFFICIENT,
    /** The other files, as long as they do not change. */
    COMPLETE,
    /** What the other files contribute is in the plan, so that the scan must read these files. */
    FIXED
  }

  private final String reason;
  private final FactsQuestion question;
  private final Kind kind;
  private final List<FileStatusWithMetadata> files = new ArrayList<>();

  /** The files that are not needed as long as they do not change. */
  private final List<FileStatus> others = new ArrayList<>();

  private final Map<InternalRow, List<FileStatusWithMetadata>> partitions = new LinkedHashMap<>();

  /** The partition of the latest file that was added, and its files: most files follow others. */
  private InternalRow partition = null;

  private List<FileStatusWithMetadata> filesOfPartition = null;

  /** The reads by whose files these were chosen. */
  private PlannedReads sources = new PlannedReads();

  private final int listed;
  private final boolean isWhole;
  private long bytes = 0;
  private boolean hasRanges = false;

  /**
   * Selects units of a listing.
   *
   * @param reason the name of the rewrite that selects, for reports
   * @param question what the rewrite has asked the indexes
   * @param facts the answer
   * @param chosen the positions of the units
   * @param kind what the query depends on beside the selected rows
   */
  public FileSelection(
      String reason, FactsQuestion question, FileFacts facts, BitSet chosen, Kind kind) {
    listed = facts.files().size();
    isWhole = chosen.cardinality() == facts.count();
    this.reason = reason;
    this.question = question;
    this.kind = kind;
    int position = 0;
    for (int file = 0; file < listed; file++) {
      int first = position;
      while (position < facts.count() && facts.file(position) == file) {
        position++;
      }
      add(facts, file, first, chosen.get(first, position));
    }
  }

  /**
   * Adds a file with some of its units.
   *
   * @param first the position of the file's first unit
   * @param chosen the chosen units, from this one on
   */
  private void add(FileFacts facts, int file, int first, BitSet chosen) {
    FileStatusWithMetadata listed = (FileStatusWithMetadata) facts.files().get(file);
    if (chosen.isEmpty()) {
      if (kind == Kind.COMPLETE) {
        others.add(listed.fileStatus());
      }
      return;
    }
    FileStatusWithMetadata added = selected(facts, listed, first, chosen);
    files.add(added);
    bytes += RangedFiles.bytes(added);
    hasRanges |= RangedFiles.isRanged(added);
    if (partition != facts.partition(first)) {
      partition = facts.partition(first);
      if (!partitions.containsKey(partition)) {
        partitions.put(partition, new ArrayList<FileStatusWithMetadata>());
      }
      filesOfPartition = (List<FileStatusWithMetadata>) partitions.get(partition);
    }
    filesOfPartition.add(added);
  }

  private static FileStatusWithMetadata selected(
      FileFacts facts, FileStatusWithMetadata listed, int first, BitSet chosen) {
    if (facts.range(first) == null) {
      return listed;
    }
    long[] ranges = new long[2 * chosen.cardinality()];
    int count = 0;
    for (int i = chosen.nextSetBit(0); i >= 0; i = chosen.nextSetBit(i + 1)) {
      System.arraycopy(facts.range(first + i), 0, ranges, count, 2);
      count += 2;
    }
    return RangedFiles.with(listed, ranges, facts.leastGap());
  }

  /**
   * Sets the reads by whose files these were chosen: the selection does not hold if one of them
   * differs from the planned one.
   */
  public void setSources(PlannedReads sources) {
    this.sources = sources;
  }

  /** Returns whether all files by which these were chosen are read as they were then. */
  boolean hasPlannedSources() {
    return sources.areAsPlanned();
  }

  /** Returns the name of the rewrite. */
  public String reason() {
    return reason;
  }

  FactsQuestion question() {
    return question;
  }

  public int count() {
    return files.size();
  }

  /** Returns whether the selection has all units from which the rewrite has selected. */
  public boolean isWhole() {
    return isWhole;
  }

  /** Returns whether only ranges of some files are selected. */
  boolean hasRanges() {
    return hasRanges;
  }

  boolean isFixed() {
    return kind == Kind.FIXED;
  }

  /** Returns the number of files from which the rewrite has selected. */
  public int listed() {
    return listed;
  }

  long bytes() {
    return bytes;
  }

  /** Returns the files of the selection, or null if all files have to be read instead. */
  Seq<PartitionDirectory> in(Seq<PartitionDirectory> listing) {
    return isFixed() || areIn(listing) ? directories() : null;
  }

  /** Returns the files of the selection. */
  Seq<PartitionDirectory> directories() {
    List<PartitionDirectory> directories = new ArrayList<>();
    for (Map.Entry<InternalRow, List<FileStatusWithMetadata>> each : partitions.entrySet()) {
      Seq<FileStatusWithMetadata> statuses =
          (Seq<FileStatusWithMetadata>) Scala.seq((List<FileStatusWithMetadata>) each.getValue());
      directories.add(new PartitionDirectory((InternalRow) each.getKey(), statuses));
    }
    return (Seq<PartitionDirectory>) Scala.seq(directories);
  }

  /** Returns whether a listing has as many files, and those that are known are unchanged. */
  private boolean areIn(Seq<PartitionDirectory> listing) {
    Map<Path, FileStatus> known = new HashMap<>();
    for (FileStatusWithMetadata file : files) {
      known.put(file.fileStatus().getPath(), file.fileStatus());
    }
    for (FileStatus file : others) {
      known.put(file.getPath(), file);
    }
    int found = 0;
    int count = 0;
    for (PartitionDirectory directory : Scala.list(listing)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        found += has(known, file.fileStatus()) ? 1 : 0;
        count++;
      }
    }
    return found == known.size() && count == listed;
  }

  private static boolean has(Map<Path, FileStatus> some, FileStatus file) {
    FileStatus known = (FileStatus) some.get(file.getPath());
    return known != null
        && known.getLen() == file.getLen()
        && known.getModificationTime() == file.getModificationTime();
  }

  private Set<String> texts() {
    Set<String> texts = new HashSet<>();
    for (FileStatusWithMetadata file : files) {
      texts.add(file.fileStatus().getPath() + " " + RangedFiles.text(file));
    }
    return texts;
  }

  // Two relations of one plan are equal only if they read the same ranges of the same files.
  @Override
  public boolean equals(Object other) {
    return this == other
        || (other instanceof FileSelection
            && ((FileSelection) other).count() == count()
            && ((FileSelection) other).texts().equals(texts()));
  }

  @Override
  public int hashCode() {
    return count();
  }
}
