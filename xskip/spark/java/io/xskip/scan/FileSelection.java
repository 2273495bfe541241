package io.xskip.scan;

import io.xskip.shims.Scala;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Seq;

/**
 * The files that suffice for the result of a query, among those that its scan would read. They were
 * chosen while Spark optimized the query, and suffice as long as they have not changed.
 */
public final class FileSelection {
  private final String reason;
  private final List<Expression> conditions;
  private final Map<Path, FileStatus> files = new HashMap<>();
  private long bytes = 0;

  /**
   * Creates a selection without files.
   *
   * @param reason the name of the rewrite that selects, for reports
   * @param conditions the conditions on the rows of the relation
   */
  public FileSelection(String reason, List<Expression> conditions) {
    this.reason = reason;
    this.conditions = conditions;
  }

  /** Adds a file of a listing. */
  public void add(FileFacts facts, int position) {
    FileStatus file = facts.file(position);
    files.put(file.getPath(), file);
    bytes += file.getLen();
  }

  String reason() {
    return reason;
  }

  List<Expression> conditions() {
    return conditions;
  }

  public int count() {
    return files.size();
  }

  long bytes() {
    return bytes;
  }

  /** Returns the files of the selection in a listing, or null if one of them has changed. */
  Seq<PartitionDirectory> in(Seq<PartitionDirectory> listing) {
    List<PartitionDirectory> directories = new ArrayList<>();
    int found = 0;
    for (PartitionDirectory directory : Scala.list(listing)) {
      List<FileStatusWithMetadata> selected = new ArrayList<>();
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        if (has(file.fileStatus())) {
          selected.add(file);
        }
      }
      found += selected.size();
      if (!selected.isEmpty()) {
        Seq<FileStatusWithMetadata> statuses = (Seq<FileStatusWithMetadata>) Scala.seq(selected);
        directories.add(new PartitionDirectory(directory.values(), statuses));
      }
    }
    return found == files.size() ? (Seq<PartitionDirectory>) Scala.seq(directories) : null;
  }

  private boolean has(FileStatus file) {
    FileStatus selected = (FileStatus) files.get(file.getPath());
    return selected != null
        && selected.getLen() == file.getLen()
        && selected.getModificationTime() == file.getModificationTime();
  }

  // Two relations of one plan are equal only if they read the same files.
  @Override
  public boolean equals(Object other) {
    return other instanceof FileSelection
        && ((FileSelection) other).files.keySet().equals(files.keySet());
  }

  @Override
  public int hashCode() {
    return files.keySet().hashCode();
  }
}
