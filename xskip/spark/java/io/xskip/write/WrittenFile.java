package io.xskip.write;

import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;

/** A file that a write has left, and the row of its results. */
final class WrittenFile {
  final FileStatus status;
  final InternalRow result;

  WrittenFile(FileStatus status, InternalRow result) {
    this.status = status;
    this.result = result;
  }
}
