package io.xskip.snapshot;

import org.apache.hadoop.fs.FileStatus;

/**
 * The ordinals of the files of one slice of a listing. Spark caches listings, so the next query
 * often lists the same {@code FileStatus} objects at the same positions: their paths need no second
 * hash.
 */
final class FileOrdinals {
  /** The ordinal of a file that is not in the snapshot. */
  static final int UNKNOWN = -1;

  private FileStatus[] files;
  private int[] ordinals;
  private boolean isChanged;
  private int last = -1;

  /** Creates the ordinals of a slice of which no file is known. */
  FileOrdinals(int size) {
    this(new FileStatus[size], new int[size], true);
  }

  private FileOrdinals(FileStatus[] files, int[] ordinals, boolean isChanged) {
    this.files = files;
    this.ordinals = ordinals;
    this.isChanged = isChanged;
  }

  /** Returns the number of files of several slices. */
  static int count(FileOrdinals[] slices) {
    int count = 0;
    for (FileOrdinals slice : slices) {
      count += slice.files.length;
    }
    return count;
  }

  /** Returns the number of files. */
  int size() {
    return files.length;
  }

  /** Returns the ordinals, which do not change after the look-up of the listing. */
  int[] all() {
    return ordinals;
  }

  /** Returns the file at a position. */
  FileStatus file(int i) {
    return files[i];
  }

  /** Returns a copy for another listing. The instance does not change with its copy. */
  FileOrdinals copyOnWrite() {
    return new FileOrdinals(files, ordinals, false);
  }

  /** Returns whether the ordinals differ from those that the instance is a copy of. */
  boolean isChanged() {
    return isChanged;
  }

  /** Returns whether the ordinal at a position is that of a file, so that no look-up is needed. */
  boolean isOf(int i, FileStatus file) {
    return files[i] == file;
  }

  /** Returns the likely ordinal of the next file. */
  int guess() {
    return last + 1;
  }

  /** Sets the file at a position, and its ordinal. */
  void set(int i, FileStatus file, int ordinal) {
    if (!isChanged) {
      files = (FileStatus[]) files.clone();
      ordinals = (int[]) ordinals.clone();
      isChanged = true;
    }
    files[i] = file;
    ordinals[i] = ordinal;
    if (ordinal != UNKNOWN) {
      last = ordinal;
    }
  }
}
