package io.xskip.questdb;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;

/**
 * The check whether bytes that were read are rows of the transaction. Rules: [QDB-SN-3] [QDB-SN-5].
 */
final class SnapshotCheck {
  private static final int TODO_BYTES = 48;
  private static final int TODO_COUNT = 32;
  private static final int TODO_CODE = 40;
  private static final long TRUNCATE = 1;
  private static final int META_BYTES = 20;
  private static final int TABLE_ID = 16;

  private final Piece piece;
  private final TableSnapshot snapshot;
  private final String stampedFile; // whose time of modification shows writes, or null

  SnapshotCheck(Piece piece) {
    this.piece = piece;
    this.snapshot = piece.snapshot;
    this.stampedFile = piece.isParquet() ? piece.folder : stampedFile(piece);
  }

  private static String stampedFile(Piece piece) { // the file that a squash changes
    TableColumn[] columns = piece.snapshot.columns;
    TableColumn column = piece.snapshot.timestamp;
    if (column == null && columns.length > 0) {
      column = columns[0];
    }
    boolean hasFile = column != null && piece.top(column) != Piece.NO_FILES;
    return hasFile ? piece.path(column, "d") : null;
  }

  /** Fails unless all bytes that were read before are those of the transaction. */
  void demandUnchanged() {
    if (snapshot.isFrozen) {
      return;
    }
    try {
      String change = change();
      if (change != null) {
        throw TableFailure.changed(piece, change);
      }
    } catch (NoSuchFileException e) {
      throw TableFailure.changed(piece, "the file " + e.getFile() + " does not exist");
    } catch (IOException e) {
      throw TableFailure.unreadable(snapshot.data, e);
    }
  }

  /** Returns what a server has changed, or null. */
  private String change() throws IOException {
    if (isTruncationBegun()) {
      return "a server truncates the table";
    }
    ByteBuffer meta = TransactionFile.head(snapshot.data + "/_meta", META_BYTES);
    if (meta.remaining() < META_BYTES || meta.getInt(TABLE_ID) != snapshot.tableId) {
      return "the table was dropped and created again";
    }
    TransactionFile now = TransactionFile.read(snapshot.data + "/_txn", snapshot.txn);
    if (now.txn == snapshot.txn) {
      return null;
    }
    if (snapshot.isCheckpoint()
        && TransactionFile.read(snapshot.control + "/_txn", snapshot.txn).txn != snapshot.txn) {
      return "the checkpoint was released";
    }
    // The removal of a partition changes the truncate version, too.
    boolean canBeTruncated = now.truncateVersion() != snapshot.truncateVersion;
    // A partition version that is the same means that rows were only appended. During a checkpoint,
    // the server squashes nothing. Parquet files only grow.
    boolean canBeSquashed =
        now.partitionVersion() != snapshot.partitionVersion
            && !snapshot.isCheckpoint()
            && !piece.isParquet();
    return (canBeTruncated || canBeSquashed) && !isUntouched(now, canBeTruncated)
        ? "a server has changed " + piece.folder
        : null;
  }

  /** Returns whether neither a squash nor a truncation can have written into the piece. */
  private boolean isUntouched(TransactionFile now, boolean canBeTruncated) throws IOException {
    // A server writes only after the rows that it has committed. If these are fewer than the rows
    // of the piece, a squash can have written some columns and not yet the stamped file. If not,
    // what wrote into the piece is committed, and the stamp shows it.
    long rows = now.rows(piece);
    if (canBeTruncated && (rows < 0 || stampedFile == null)) {
      return false;
    }
    return (rows < 0 || rows >= piece.rows) && isStamped();
  }

  private boolean isTruncationBegun() throws IOException {
    try {
      ByteBuffer todo = TransactionFile.head(snapshot.data + "/_todo_", TODO_BYTES);
      return todo.remaining() == TODO_BYTES
          && todo.getLong(TODO_COUNT) > 0
          && todo.getLong(TODO_CODE) == TRUNCATE;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  private boolean isStamped() throws IOException {
    if (stampedFile == null) {
      return piece.inode < 0;
    }
    try {
      return isStamped(Paths.get(stampedFile));
    } catch (NoSuchFileException e) {
      String descriptor = TableFile.descriptorPath(piece, stampedFile);
      if (descriptor == null) {
        throw e;
      }
      return isStamped(Paths.get(descriptor)) && piece.openFiles.isOpen();
    }
  }

  private boolean isStamped(Path path) throws IOException {
    long inode = ((Number) Files.getAttribute(path, "unix:ino")).longValue();
    long modified = Files.getLastModifiedTime(path).to(TimeUnit.NANOSECONDS);
    boolean isOfMicros = modified % 1000 == 0; // older versions of Java know no nanoseconds
    return inode == piece.inode
        && (modified == piece.modified || (isOfMicros && modified == piece.modified / 1000 * 1000));
  }
}
