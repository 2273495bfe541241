package io.xskip.snapshot;

import io.xskip.protocol.Answer;
import io.xskip.protocol.AnswerRanges;
import io.xskip.shims.Scala;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/**
 * What an answer says of the units of a listing, in the order of the listing. A unit is a part of a
 * file, or a file.
 */
public final class FileFacts {
  private final Answer answer;
  private final long[] rows;
  private final List<FileStatusWithMetadata> files = new ArrayList<>();
  private final List<InternalRow> partitions = new ArrayList<>();

  /** For each unit its file. */
  private final int[] fileOf;

  /** For each unit its ordinal among those of the answer. */
  private final int[] ordinals;

  private final AnswerRanges units;
  private final long leastGap;

  /**
   * Creates the facts of a listing.
   *
   * @param units the units of the answer
   * @param known for each file of the listing its ordinal in the snapshot
   * @param leastGap the bytes between two ranges of a file from which on the query does not read
   *     them
   */
  FileFacts(
      Seq<PartitionDirectory> directories,
      Answer answer,
      AnswerRanges units,
      int[] known,
      long leastGap) {
    this.answer = answer;
    this.units = units;
    this.leastGap = leastGap;
    rows = answer.rows(units.units());
    for (PartitionDirectory directory : Scala.list(directories)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        files.add(file);
        partitions.add(directory.values());
      }
    }
    int count = 0;
    for (int ordinal : known) {
      count += ordinal == FileOrdinals.UNKNOWN ? 1 : units.unitsOf(ordinal);
    }
    fileOf = new int[count];
    ordinals = new int[count];
    int unit = 0;
    for (int file = 0; file < known.length; file++) {
      boolean isKnown = known[file] != FileOrdinals.UNKNOWN;
      int members = isKnown ? units.unitsOf(known[file]) : 1;
      for (int i = 0; i < members; i++) {
        fileOf[unit] = file;
        ordinals[unit] = isKnown ? units.firstUnit(known[file]) + i : FileOrdinals.UNKNOWN;
        unit++;
      }
    }
  }

  /** Returns the number of units. */
  public int count() {
    return fileOf.length;
  }

  /** Returns the files as Spark lists them. */
  public List<FileStatusWithMetadata> files() {
    return files;
  }

  /** Returns the position of a unit's file in {@link #files}. */
  public int file(int position) {
    return fileOf[position];
  }

  /** Returns the start and the length of a unit, or null if it is a file. */
  public long[] range(int position) {
    return ordinals[position] == FileOrdinals.UNKNOWN ? null : units.range(ordinals[position]);
  }

  /** Returns the bytes between two ranges of a file from which on the query does not read them. */
  public long leastGap() {
    return leastGap;
  }

  /** Returns the number of bytes of a unit. */
  public long length(int position) {
    long[] range = range(position);
    return range == null
        ? ((FileStatusWithMetadata) files.get(fileOf[position])).fileStatus().getLen()
        : range[1];
  }

  /** Returns the partition values of a unit. */
  public InternalRow partition(int position) {
    return (InternalRow) partitions.get(fileOf[position]);
  }

  /** Returns the ordinal of a unit in {@link #columns}; the answer has to know the unit. */
  public int ordinal(int position) {
    return ordinals[position];
  }

  /** Returns whether all rows of a unit certainly satisfy the conditions. Their number is known. */
  public boolean isWhole(int position) {
    return ordinals[position] != FileOrdinals.UNKNOWN && answer.isWhole(ordinals[position]);
  }

  /** Returns whether all rows of a unit certainly satisfy a predicate of the question. */
  public boolean matchesWholly(int position, int predicate) {
    return ordinals[position] != FileOrdinals.UNKNOWN
        && answer.matchesWholly(ordinals[position], predicate, rows.length);
  }

  /** Returns whether a unit certainly has no row that satisfies a predicate of the question. */
  public boolean matchesNowhere(int position, int predicate) {
    return ordinals[position] != FileOrdinals.UNKNOWN
        && answer.matchesNowhere(ordinals[position], predicate, rows.length);
  }

  /** Returns the number of rows of a unit, or {@link Answer#UNKNOWN_ROWS}. */
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
