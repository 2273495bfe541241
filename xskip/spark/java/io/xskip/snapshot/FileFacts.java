package io.xskip.snapshot;

import io.xskip.protocol.Answer;
import io.xskip.shims.Scala;
import java.util.Arrays;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Seq;

/** What an answer says of the files of a listing, in the order of the listing. */
public final class FileFacts {
  private final FileStatus[] files;
  private final boolean[] isWhole;
  private final long[] rows;

  /** Creates the facts of a listing of which nothing is known. */
  FileFacts(Seq<PartitionDirectory> directories) {
    int count = 0;
    for (PartitionDirectory directory : Scala.list(directories)) {
      count += directory.files().length();
    }
    files = new FileStatus[count];
    isWhole = new boolean[count];
    rows = new long[count];
    Arrays.fill(rows, Answer.UNKNOWN_ROWS);
    int position = 0;
    for (PartitionDirectory directory : Scala.list(directories)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        files[position] = file.fileStatus();
        position++;
      }
    }
  }

  void set(int position, boolean isWhole, long rows) {
    this.isWhole[position] = isWhole;
    this.rows[position] = rows;
  }

  public int count() {
    return files.length;
  }

  public FileStatus file(int position) {
    return files[position];
  }

  /** Returns whether all rows of a file certainly satisfy the conditions. Their number is known. */
  public boolean isWhole(int position) {
    return isWhole[position];
  }

  /** Returns the number of rows of a file, or {@link Answer#UNKNOWN_ROWS}. */
  public long rows(int position) {
    return rows[position];
  }
}
