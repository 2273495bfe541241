package io.xskip.rewrite;

import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import org.apache.spark.sql.types.DataType;

/** The bounds of a column in the files of a listing: by an index, or by their partition values. */
final class FileBounds {
  private final FileFacts files;
  private final ColumnFacts facts;
  private final int partition;
  private final DataType type;

  /**
   * Creates the bounds of a column.
   *
   * @param facts the facts of the column, or null if it is a partition column
   * @param partition the position of the column among the partition columns, or -1
   */
  FileBounds(FileFacts files, ColumnFacts facts, int partition, DataType type) {
    this.files = files;
    this.facts = facts;
    this.partition = partition;
    this.type = type;
  }

  DataType type() {
    return type;
  }

  /** Returns whether a file certainly has no value but NULL. */
  boolean isEmpty(int position) {
    if (partition >= 0) {
      return files.partition(position).isNullAt(partition);
    }
    int ordinal = files.ordinal(position);
    return ordinal >= 0 && facts.isEmpty(ordinal);
  }

  /** Returns whether no value of a file lies outside of {@link #low} and {@link #high}. */
  boolean isBounded(int position) {
    if (partition >= 0) {
      return !files.partition(position).isNullAt(partition);
    }
    int ordinal = files.ordinal(position);
    return ordinal >= 0 && facts.isBounded(ordinal);
  }

  /** Returns whether the least and the greatest value of a file are known: rows have them. */
  boolean isExact(int position) {
    if (partition >= 0) {
      return isBounded(position);
    }
    int ordinal = files.ordinal(position);
    return ordinal >= 0 && facts.isExact(ordinal);
  }

  /** Returns the lower bound of a file in Catalyst's form, or null without bounds. */
  Object low(int position) {
    return partition >= 0 ? value(position) : facts.low(files.ordinal(position));
  }

  /** Returns the upper bound of a file in Catalyst's form, or null without bounds. */
  Object high(int position) {
    return partition >= 0 ? value(position) : facts.high(files.ordinal(position));
  }

  /** Returns all values of a file but NULL in Catalyst's form, or null if they are unknown. */
  Object[] values(int position) {
    int ordinal = partition >= 0 ? -1 : files.ordinal(position);
    return ordinal >= 0 ? facts.values(ordinal) : null;
  }

  private Object value(int position) {
    return files.partition(position).isNullAt(partition)
        ? null
        : files.partition(position).get(partition, type);
  }
}
