package io.xskip.snapshot;

import io.xskip.protocol.Answer;
import io.xskip.shims.Scala;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/** What an answer says of the files of a listing, in the order of the listing. */
public final class FileFacts {
  private final Answer answer;

  /** For each file of the snapshot its position among those that are left. */
  private final int[] positionsOfLeft;

  private final long[] rows;
  private final FileStatusWithMetadata[] files;
  private final InternalRow[] partitions;
  private final int[] ordinals;

  /**
   * Creates the facts of a listing of which no file is known.
   *
   * @param positionsOfLeft the result of {@link Answer#positionsOfLeft}
   */
  FileFacts(Seq<PartitionDirectory> directories, Answer answer, int[] positionsOfLeft) {
    this.answer = answer;
    this.positionsOfLeft = positionsOfLeft;
    int left = 0;
    for (int position : positionsOfLeft) {
      left = Math.max(left, position + 1);
    }
    rows = answer.rows(left);
    int count = 0;
    for (PartitionDirectory directory : Scala.list(directories)) {
      count += directory.files().length();
    }
    files = new FileStatusWithMetadata[count];
    partitions = new InternalRow[count];
    ordinals = new int[count];
    Arrays.fill(ordinals, FileOrdinals.UNKNOWN);
    int position = 0;
    for (PartitionDirectory directory : Scala.list(directories)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        files[position] = file;
        partitions[position] = directory.values();
        position++;
      }
    }
  }

  /** Sets the ordinal of a file in the snapshot. */
  void set(int position, int ordinal) {
    ordinals[position] =
        ordinal == FileOrdinals.UNKNOWN ? FileOrdinals.UNKNOWN : positionsOfLeft[ordinal];
  }

  /** Sets the ordinals of all files in the snapshot. */
  void setAll(int[] known) {
    for (int i = 0; i < known.length; i++) {
      set(i, known[i]);
    }
  }

  public int count() {
    return files.length;
  }

  /** Returns a file as Spark lists it. */
  public FileStatusWithMetadata listed(int position) {
    return files[position];
  }

  public long length(int position) {
    return files[position].fileStatus().getLen();
  }

  /** Returns the partition values of a file. */
  public InternalRow partition(int position) {
    return partitions[position];
  }

  /** Returns the ordinal of a file in {@link #columns}; the answer has to know the file. */
  public int ordinal(int position) {
    return ordinals[position];
  }

  /** Returns whether all rows of a file certainly satisfy the conditions. Their number is known. */
  public boolean isWhole(int position) {
    return ordinals[position] != FileOrdinals.UNKNOWN && answer.isWhole(ordinals[position]);
  }

  /** Returns whether all rows of a file certainly satisfy a predicate of the question. */
  public boolean matchesWholly(int position, int predicate) {
    return ordinals[position] != FileOrdinals.UNKNOWN
        && answer.matchesWholly(ordinals[position], predicate, rows.length);
  }

  /** Returns whether a file certainly has no row that satisfies a predicate of the question. */
  public boolean matchesNowhere(int position, int predicate) {
    return ordinals[position] != FileOrdinals.UNKNOWN
        && answer.matchesNowhere(ordinals[position], predicate, rows.length);
  }

  /** Returns the number of rows of a file, or {@link Answer#UNKNOWN_ROWS}. */
  public long rows(int position) {
    return ordinals[position] == FileOrdinals.UNKNOWN
        ? Answer.UNKNOWN_ROWS
        : rows[ordinals[position]];
  }

  /** Returns the facts of the columns of the question, whose types are given. */
  public ColumnFacts[] columns(DataType[] types) {
    ByteBuffer section = answer.columns();
    ColumnFacts[] columns = new ColumnFacts[types.length];
    for (int i = 0; i < types.length; i++) {
      columns[i] = new ColumnFacts(section, types[i], rows.length);
    }
    return columns;
  }
}
