package io.xskip.questdb;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;

/**
 * The check whether bytes that were read still are rows of the transaction. Rules: [QDB-SN-3]
 * [QDB-SN-5].
 */
final class SnapshotCheck {
  private static final int TODO_BYTES = 48;
  private static final int TODO_COUNT = 32;
  private static final int TODO_CODE = 40;
  private static final long TRUNCATE = 1;
  private static final int META_BYTES = 20;
  private static final int TABLE_ID = 16;
  private static final int HEADER_BYTES = 64;
  private static final int EVEN_OFFSET = 8;
  private static final int ODD_OFFSET = 32;
  private static final int RECORD_BYTES = 80;
  private static final int PARTITION_VERSION = 56;
  private static final int TRUNCATE_VERSION = 72;
  private static final int ATTEMPTS = 1000;

  private final Piece piece;
  private final TableSnapshot snapshot;
  private final String stampedFile;

  /**
   * Creates a check.
   *
   * @param stampedFile the file that a squash changes, or null if the piece has none
   */
  SnapshotCheck(Piece piece, String stampedFile) {
    this.piece = piece;
    this.snapshot = piece.snapshot;
    this.stampedFile = stampedFile;
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
    ByteBuffer meta = head(snapshot.data + "/_meta", META_BYTES);
    if (meta.remaining() < META_BYTES || meta.getInt(TABLE_ID) != snapshot.tableId) {
      return "the table was dropped and created again";
    }
    long[] now = versions(snapshot.data + "/_txn");
    if (now[0] == snapshot.txn) {
      return null;
    }
    if (snapshot.isCheckpoint() && versions(snapshot.control + "/_txn")[0] != snapshot.txn) {
      return "the checkpoint was released";
    }
    if (now[1] != snapshot.truncateVersion) {
      return "a server has truncated the table";
    }
    // A partition version that is the same means that rows were only appended. During a checkpoint,
    // the server squashes nothing. Parquet files only grow.
    boolean canBeSquashed =
        now[2] != snapshot.partitionVersion && !snapshot.isCheckpoint() && !piece.isParquet();
    return canBeSquashed && !isStamped() ? "a server has changed " + piece.folder : null;
  }

  private boolean isTruncationBegun() throws IOException {
    try {
      ByteBuffer todo = head(snapshot.data + "/_todo_", TODO_BYTES);
      return todo.remaining() == TODO_BYTES
          && todo.getLong(TODO_COUNT) > 0
          && todo.getLong(TODO_CODE) == TRUNCATE;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /** Returns the transaction, the truncate version and the partition version of {@code _txn}. */
  private long[] versions(String path) throws IOException {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      FileChannel file = open(path);
      try {
        long[] versions = versions(file);
        if (versions != null) {
          return versions;
        }
      } finally {
        file.close();
      }
      Thread.yield();
    }
    throw new IOException("a server commits faster than " + path + " can be read");
  }

  /** Returns the versions of an open file, or null if a server commits at this moment. */
  private long[] versions(FileChannel file) throws IOException {
    ByteBuffer header = read(file, 0, HEADER_BYTES);
    if (header.remaining() < HEADER_BYTES) {
      return null;
    }
    long version = header.getLong(0);
    if (version == snapshot.txn) {
      return new long[] {version, snapshot.truncateVersion, snapshot.partitionVersion};
    }
    int offset = header.getInt((version & 1) == 0 ? EVEN_OFFSET : ODD_OFFSET);
    ByteBuffer record = read(file, offset, RECORD_BYTES);
    boolean isWhole =
        record.remaining() == RECORD_BYTES
            && record.getLong(0) == version
            && read(file, 0, Long.BYTES).getLong(0) == version;
    return isWhole
        ? new long[] {version, record.getLong(TRUNCATE_VERSION), record.getLong(PARTITION_VERSION)}
        : null;
  }

  private boolean isStamped() throws IOException {
    if (stampedFile == null) {
      return piece.inode < 0;
    }
    Path path = Paths.get(stampedFile);
    long inode = ((Number) Files.getAttribute(path, "unix:ino")).longValue();
    long modified = Files.getLastModifiedTime(path).to(TimeUnit.NANOSECONDS);
    return inode == piece.inode && modified == piece.modified;
  }

  private static ByteBuffer head(String path, int length) throws IOException {
    FileChannel file = open(path);
    try {
      return read(file, 0, length);
    } finally {
      file.close();
    }
  }

  private static FileChannel open(String path) throws IOException {
    return FileChannel.open(Paths.get(path), StandardOpenOption.READ);
  }

  /** Returns bytes from a place on, or fewer if the file ends before. */
  private static ByteBuffer read(FileChannel file, int from, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int place = Math.max(from, 0);
    while (bytes.hasRemaining()) {
      int count = file.read(bytes, place);
      if (count < 0) {
        break;
      }
      place += count;
    }
    bytes.flip();
    return bytes;
  }
}
