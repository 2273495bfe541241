package io.xskip.questdb;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** A file of a table, open for reads of ranges. Rules: [QDB-RD-5]. */
final class TableFile implements Closeable {
  @SuppressWarnings("deprecation") // Spark reads them for the metric of the bytes of a task
  private static final FileSystem.Statistics STATISTICS =
      FileSystem.getStatistics("file", RawLocalFileSystem.class);

  private final Piece piece;
  private final String path;
  private final FileChannel channel;

  TableFile(Piece piece, String path) {
    this.piece = piece;
    this.path = path;
    FileChannel opened = null;
    try {
      opened = opened(piece, path);
    } catch (IOException e) {
      throw TableFailure.unreadable(path, e);
    }
    if (opened == null) {
      throw missing(piece, path);
    }
    channel = opened;
  }

  /**
   * Opens a file, also one that a server has removed but the query holds; null if there is none.
   */
  private static FileChannel opened(Piece piece, String path) throws IOException {
    try {
      return FileChannel.open(Paths.get(path), StandardOpenOption.READ);
    } catch (NoSuchFileException e) {
      String descriptor = descriptorPath(piece, path);
      if (descriptor == null) {
        return null;
      }
      FileChannel opened = FileChannel.open(Paths.get(descriptor), StandardOpenOption.READ);
      if (piece.openFiles.isOpen()) {
        return opened;
      }
      opened.close();
      return null;
    }
  }

  /** Returns the path of the descriptor of a file that the query holds, or null. */
  static String descriptorPath(Piece piece, String path) {
    String folder =
        piece.isParquet() ? Paths.get(piece.folder).getParent().toString() : piece.folder;
    boolean isOfPiece = piece.openFiles != null && path.startsWith(folder + "/");
    return isOfPiece ? piece.openFiles.path(path.substring(folder.length() + 1)) : null;
  }

  static String attributes(Piece piece, String path, String names) {
    try {
      return Files.readAttributes(Paths.get(path), names).toString();
    } catch (NoSuchFileException e) {
      return descriptorAttributes(piece, path, names);
    } catch (IOException e) {
      throw TableFailure.unreadable(path, e);
    }
  }

  private static String descriptorAttributes(Piece piece, String path, String names) {
    String descriptor = descriptorPath(piece, path);
    try {
      String found =
          descriptor == null ? null : Files.readAttributes(Paths.get(descriptor), names).toString();
      if (found != null && piece.openFiles.isOpen()) {
        return found;
      }
    } catch (IOException e) {
      throw TableFailure.unreadable(path, e);
    }
    throw missing(piece, path);
  }

  /** Returns the bytes of a file, also of one that the query holds; null if there is none. */
  static byte[] bytes(Piece piece, String path) throws IOException {
    try {
      return Files.readAllBytes(Paths.get(path));
    } catch (NoSuchFileException e) {
      String descriptor = descriptorPath(piece, path);
      byte[] bytes = descriptor == null ? null : Files.readAllBytes(Paths.get(descriptor));
      return bytes == null || !piece.openFiles.isOpen() ? null : bytes;
    }
  }

  static RuntimeException missing(Piece piece, String path) {
    return TableFailure.changed(piece, "the file " + path + " does not exist");
  }

  String path() {
    return path;
  }

  void read(long from, byte[] into, int length) {
    read(from, into, 0, length);
  }

  /** Reads bytes from a place of the file on into an array. */
  void read(long from, byte[] into, int at, int length) {
    // Ranges are copied: a mapped file that a server cuts would end the process.
    ByteBuffer buffer = ByteBuffer.wrap(into, at, length);
    long place = from;
    try {
      while (buffer.hasRemaining()) {
        int count = from < 0 ? -1 : channel.read(buffer, place);
        if (count < 0) {
          throw TableFailure.changed(
              piece, "the file " + path + " ends before byte " + (from + length));
        }
        place += count;
      }
    } catch (IOException e) {
      throw TableFailure.unreadable(path, e);
    }
    STATISTICS.incrementBytesRead(length);
  }

  long readLong(long from) {
    byte[] bytes = new byte[Long.BYTES];
    read(from, bytes, bytes.length);
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      // the file was only read
    }
  }
}
