package io.xskip.questdb;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.Closeable;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.OperatingSystemMXBean;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/**
 * The files of a transaction that stay open while a query runs, as a server can remove them. Rules:
 * [QDB-SP-11].
 */
final class OpenFiles implements Closeable {
  private static final int MAX_FILES = 4_000; // that a query holds
  private static final int PART_OF_DESCRIPTORS = 8; // of those that are left

  private static final String PREFIX = "xskip.questdb.open.";

  // Tasks in the same process open a file by the number of its descriptor. A system property says
  // whether the files are still open: tasks have other classes than the driver, so that they share
  // no static fields.
  private final String token = PREFIX + UUID.randomUUID();
  private final List<RandomAccessFile> files = new ArrayList<>();
  private final String[][] names;
  private final int[][] numbers;
  private final long limit = limit();

  // whether there are too many files, or the system cannot open files by number
  private boolean isFull = !Files.isDirectory(Paths.get(OpenPiece.DESCRIPTORS));

  OpenFiles(int pieces) {
    names = new String[pieces][];
    numbers = new int[pieces][];
    System.setProperty(token, "");
  }

  private static long limit() {
    OperatingSystemMXBean system = ManagementFactory.getOperatingSystemMXBean();
    if (!(system instanceof UnixOperatingSystemMXBean)) {
      return 0;
    }
    UnixOperatingSystemMXBean unix = (UnixOperatingSystemMXBean) system;
    long left = unix.getMaxFileDescriptorCount() - unix.getOpenFileDescriptorCount();
    return Math.min(MAX_FILES, left / PART_OF_DESCRIPTORS);
  }

  /**
   * Opens the files of pieces (folders, or Parquet files), until there are too many; fails if one
   * was removed.
   */
  synchronized void add(String[] folders, boolean[] wanted) throws FileNotFoundException {
    for (int i = 0; i < wanted.length && !isFull; i++) {
      if (wanted[i] && numbers[i] == null) {
        File place = new File(folders[i]);
        boolean isParquet = place.getName().equals(Piece.PARQUET_FILE);
        add(i, isParquet ? place.getParentFile() : place);
      }
    }
  }

  private void add(int piece, File folder) throws FileNotFoundException {
    String[] found = folder.list();
    if (found == null) {
      throw new FileNotFoundException(folder.getPath());
    }
    isFull |= files.size() + found.length > limit;
    int[] own = new int[found.length];
    for (int i = 0; i < found.length && !isFull; i++) {
      own[i] = open(new File(folder, found[i]));
      isFull |= own[i] < 0;
    }
    if (!isFull) {
      names[piece] = found;
      numbers[piece] = own;
    }
  }

  /** Opens a file, and returns the number of its descriptor, or -1 if it cannot be held. */
  private int open(File path) throws FileNotFoundException {
    try {
      RandomAccessFile file = new RandomAccessFile(path, "r");
      files.add(file);
      return number(file);
    } catch (FileNotFoundException e) {
      if (path.exists()) { // a folder, a file without permission, or too many open files
        return -1;
      }
      throw e;
    }
  }

  /** Returns the number of a descriptor, or -1 if the JVM does not tell it. */
  private static int number(RandomAccessFile file) {
    try {
      Field field = FileDescriptor.class.getDeclaredField("fd");
      field.setAccessible(true);
      return field.getInt(file.getFD());
    } catch (Exception e) {
      return -1;
    }
  }

  /** Returns the files of a piece as tasks need them, or null if they are not open. */
  synchronized OpenPiece piece(int i) {
    return numbers[i] == null ? null : new OpenPiece(token, names[i], numbers[i]);
  }

  @Override
  public synchronized void close() {
    isFull = true;
    System.clearProperty(token); // before a number can stand for another file
    for (RandomAccessFile file : files) {
      try {
        file.close();
      } catch (IOException e) {
        continue; // the file was only read
      }
    }
    files.clear();
    Arrays.fill(names, null); // executions are remembered for long
    Arrays.fill(numbers, null);
  }
}
