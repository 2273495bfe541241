package io.xskip.write;

import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** A file that a write has left, and its path, its number of rows, and its results. */
final class WrittenFile {
  final FileStatus status;
  final Object[] result;

  WrittenFile(FileStatus status, Object[] result) {
    this.status = status;
    this.result = result;
  }

  /** Returns the path by which a task has written the file. */
  static String path(Object[] result) {
    return (String) result[0];
  }

  /** Returns the results behind a number of the file, or null if the file has no rows. */
  InternalRow row(int number) {
    if (((Long) result[1]).longValue() == 0) {
      return null;
    }
    Object[] values = new Object[result.length - 1];
    values[0] = Integer.valueOf(number);
    System.arraycopy(result, 2, values, 1, values.length - 1);
    return new GenericInternalRow(values);
  }
}
