package io.xskip.questdb;

import io.xskip.common.ReadFailures;
import org.apache.spark.SparkException;
import org.apache.spark.unsafe.Platform;

/** The errors of a table that cannot be read as one transaction. */
final class TableFailure {
  private static final String HINT =
      "; build the query again and run it, or read a checkpoint (CHECKPOINT CREATE), or a copy of a"
          + " stopped server";

  private TableFailure() {}

  /** Throws the error of a table that a server has changed since the transaction was read. */
  static RuntimeException changed(Piece piece, String what) {
    return raise(
        "xskip cannot read transaction "
            + piece.snapshot.txn
            + " of the QuestDB table "
            + piece.snapshot.data
            + ": "
            + what
            + HINT,
        null);
  }

  /** Throws the error of a file whose bytes contradict the transaction. */
  static RuntimeException damaged(String path, String what) {
    return raise(message(path, what), null);
  }

  /** Throws the error of a file that cannot be read; an error of this class is thrown as it is. */
  static RuntimeException unreadable(String path, Throwable cause) {
    if (cause.getClass() == SparkException.class || cause instanceof Error) {
      Platform.throwException(cause);
    }
    return raise(message(path, cause.toString()), cause);
  }

  private static String message(String path, String what) {
    return ReadFailures.text(path, what) + HINT;
  }

  private static RuntimeException raise(String message, Throwable cause) {
    Platform.throwException(ReadFailures.of(message, cause));
    return new IllegalStateException(message);
  }
}
