package io.xskip.scan;

import io.xskip.shims.Scala;
import io.xskip.snapshot.FileFacts;
import io.xskip.tasks.RangedFiles;
import java.util.ArrayList;
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
 * The files that suffice for the result of a query, among those that its scan would read. They were
 * chosen while Spark optimized the query.
 */
public final class FileSelection {
  private final String reason;
  private final FactsQuestion question;
  private final boolean isFixed;
  private final List<FileStatus> files = new ArrayList<>();

  /** The files that are known not to be needed as long as they do not change. */
  private final List<FileStatus> others = new ArrayList<>();

  private final Map<InternalRow, List<FileStatusWithMetadata>> partitions = new LinkedHashMap<>();

  /** The partition of the latest file that was added, and its files: most files follow others. */
  private InternalRow partition = null;

  private List<FileStatusWithMetadata> filesOfPartition = null;

  /** The reads by whose files these were chosen. */
  private PlannedReads sources = new PlannedReads();

  private final int listed;
  private long bytes = 0;

  /**
   * Creates a selection without files.
   *
   * @param reason the name of the rewrite that selects, for reports
   * @param question what the rewrite has asked the indexes
   * @param listed the number of files from which the rewrite selects
   * @param isFixed whether the plan has what the other files contribute, so that the scan must read
   *     these files; otherwise it can read all files
   */
  public FileSelection(String reason, FactsQuestion question, int listed, boolean isFixed) {
    this.listed = listed;
    this.reason = reason;
    this.question = question;
    this.isFixed = isFixed;
  }

  /** Adds a file of a listing. */
  public void add(FileFacts facts, int position) {
    FileStatusWithMetadata listed = facts.listed(position);
    FileStatus file = listed.fileStatus();
    files.add(file);
    bytes += RangedFiles.bytes(listed);
    if (partition != facts.partition(position)) {
      partition = facts.partition(position);
      if (!partitions.containsKey(partition)) {
        partitions.put(partition, new ArrayList<FileStatusWithMetadata>());
      }
      filesOfPartition = (List<FileStatusWithMetadata>) partitions.get(partition);
    }
    filesOfPartition.add(listed);
  }

  /** Adds a file of a listing that is not needed unless it changes. */
  public void leaveOut(FileFacts facts, int position) {
    others.add(facts.listed(position).fileStatus());
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

  /** Returns whether the selection has all files from which the rewrite has selected. */
  public boolean isWhole() {
    return files.size() == listed;
  }

  boolean isFixed() {
    return isFixed;
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
    return isFixed || areIn(listing) ? directories() : null;
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
    for (FileStatus file : files) {
      known.put(file.getPath(), file);
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

  private Set<Path> paths() {
    Set<Path> paths = new HashSet<>();
    for (FileStatus file : files) {
      paths.add(file.getPath());
    }
    return paths;
  }

  // Two relations of one plan are equal only if they read the same files.
  @Override
  public boolean equals(Object other) {
    return this == other
        || (other instanceof FileSelection
            && ((FileSelection) other).count() == count()
            && ((FileSelection) other).paths().equals(paths()));
  }

  @Override
  public int hashCode() {
    return count();
  }
}
