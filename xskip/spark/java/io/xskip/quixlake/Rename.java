package io.xskip.quixlake;

import io.xskip.files.NewFiles;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Gives a segment its final name. Several processes can do this at once, and each can end at any
 * moment.
 */
final class Rename implements Callable<Boolean> {
  private static final int ATTEMPTS = 3;
  private static final byte[] MAGIC = {'O', 'b', 'j', 1};

  /** The message of Avro's error for a block without its end. */
  private static final String INVALID = "Invalid sync!";

  private final FileSystem fileSystem;
  private final Path hidden;
  private final Path name;
  private final Path other;

  /**
   * Creates a task; {@code other} is the name if another file with other messages has {@code name}.
   */
  Rename(FileSystem fileSystem, Path hidden, Path name, Path other) {
    this.fileSystem = fileSystem;
    this.hidden = hidden;
    this.name = name;
    this.other = other;
  }

  /** Renames the segment, and returns whether it has the other name. */
  @Override
  public Boolean call() throws Exception {
    for (int i = 0; i < ATTEMPTS; i++) {
      if (movedTo(name)) {
        return Boolean.FALSE;
      }
      if (!fileSystem.exists(hidden)) {
        return Boolean.valueOf(isOther());
      }
      if (movedTo(other)) {
        return Boolean.TRUE;
      }
    }
    throw new IOException("cannot rename " + hidden + " to " + name);
  }

  private boolean isOther() throws IOException { // of a segment that was renamed before
    if (fileSystem.exists(other)) {
      return true;
    }
    if (fileSystem.exists(name)) {
      return false;
    }
    throw new FileNotFoundException("a segment of a committed batch is missing: " + name);
  }

  /** Returns whether the segment has the target's name now. */
  private boolean movedTo(Path target) throws IOException {
    try {
      if (renamedTo(target)) {
        return true;
      }
      if (fileSystem.exists(hidden) && hasMessagesOf(target)) {
        fileSystem.delete(hidden, false);
        return true;
      }
      return false;
    } catch (FileNotFoundException e) { // another process has renamed the segment meanwhile
      return false;
    }
  }

  private boolean renamedTo(Path target) throws IOException {
    try { // on an object store, a rename is a copy and a removal
      if (isTaken(target)) {
        return false;
      }
      NewFiles.removeChecksums(fileSystem, target); // Hadoop removes them after it renames
      return fileSystem.rename(hidden, target);
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  @SuppressWarnings("deprecation") // S3A asks only once for isDirectory
  private boolean isTaken(Path target) throws IOException {
    // S3A's rename fails for the name of a file, but moves the segment into a folder of this name.
    return NewFiles.isS3(fileSystem) ? fileSystem.isDirectory(target) : fileSystem.exists(target);
  }

  /** Returns whether the target holds the same messages as the hidden file, in the same blocks. */
  private boolean hasMessagesOf(Path target) throws IOException {
    DataFileStream<Object> left = open(hidden);
    try {
      DataFileStream<Object> right = openSegment(target);
      if (right == null) {
        return false;
      }
      try {
        return left.getSchema().equals(right.getSchema()) && haveEqualBlocks(left, right);
      } finally {
        right.close();
      }
    } finally {
      left.close();
    }
  }

  private DataFileStream<Object> open(Path path) throws IOException {
    return new DataFileStream<Object>(fileSystem.open(path), new GenericDatumReader<Object>());
  }

  /** Opens a file of another program; returns null if it has no complete header of Avro. */
  private DataFileStream<Object> openSegment(Path path) throws IOException {
    byte[] magic = new byte[MAGIC.length];
    FSDataInputStream file = fileSystem.open(path);
    try {
      if (file.read(0, magic, 0, 1) < 1) {
        return null;
      }
      file.readFully(0, magic);
    } catch (EOFException e) {
      return null;
    } finally {
      file.close();
    }
    if (!Arrays.equals(magic, MAGIC)) {
      return null;
    }
    try {
      return open(path);
    } catch (EOFException e) {
      return null;
    } catch (AvroRuntimeException e) {
      return null;
    }
  }

  private static boolean haveEqualBlocks(DataFileStream<Object> left, DataFileStream<Object> right)
      throws IOException {
    while (left.hasNext()) {
      ByteBuffer block = left.nextBlock();
      if (!block.equals(nextBlock(right)) || left.getBlockCount() != right.getBlockCount()) {
        return false;
      }
    }
    return nextBlock(right) == null;
  }

  /**
   * Returns the next block of another program's file, or null if there is none or it is damaged.
   */
  private static ByteBuffer nextBlock(DataFileStream<Object> stream) throws IOException {
    try {
      return stream.hasNext() ? stream.nextBlock() : null;
    } catch (EOFException e) {
      return null;
    } catch (AvroRuntimeException e) { // of hasNext, which wraps what the store and Avro raise
      if (e.getCause() instanceof IOException && !INVALID.equals(e.getCause().getMessage())) {
        throw (IOException) e.getCause();
      }
      return null;
    }
  }
}
