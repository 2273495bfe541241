package io.xskip.snapshot;

import org.apache.hadoop.fs.FileStatus;

/**
 * The ordinals of a stretch of files in a snapshot, valid per position by identity: what is listed
 * again is not hashed.
 */
public class FileOrdinals {
  private FileStatus[] files;
  private int[] ordinals;
  private boolean isNew;
  private int last = -1;

  FileOrdinals(int size) {
    this(new FileStatus[size], new int[size], true);
  }

  private FileOrdinals(FileStatus[] files, int[] ordinals, boolean isNew) {
    this.files = files;
    this.ordinals = ordinals;
    this.isNew = isNew;
  }

  /** The same, to which others may be added: what has been remembered does not change. */
  FileOrdinals again() {
    return new FileOrdinals(files, ordinals, false);
  }

  boolean isNew() {
    return isNew;
  }

  static int count(FileOrdinals[] all) {
    int n = 0;
    for (int i = 0; i < all.length; i++) n += all[i].files.length;
    return n;
  }

  int of(int i, FileStatus f, FileSnapshot snap) {
    if (files[i] == f) return ordinals[i];
    if (!isNew) {
      files = (FileStatus[]) files.clone();
      ordinals = (int[]) ordinals.clone();
      isNew = true;
    }
    files[i] = f;
    ordinals[i] = snap.ordinal(f, last + 1);
    if (ordinals[i] >= 0) last = ordinals[i];
    return ordinals[i];
  }
}
