package io.xskip.questdb;

import java.io.Serializable;

/** The open files of a piece, see {@link OpenFiles}. */
final class OpenPiece implements Serializable {
  private static final long serialVersionUID = 1L;

  static final String DESCRIPTORS = "/proc/self/fd/"; // has a file for each open descriptor

  private final String token;
  private final String[] names;
  private final int[] numbers;

  OpenPiece(String token, String[] names, int[] numbers) {
    this.token = token;
    this.names = names;
    this.numbers = numbers;
  }

  /**
   * Returns the path of a file's descriptor, or null; what it opened counts only if {@link #isOpen}
   * still holds.
   */
  String path(String name) {
    // the number of a closed descriptor can stand for another file
    for (int i = 0; i < names.length && isOpen(); i++) {
      if (names[i].equals(name)) {
        return DESCRIPTORS + numbers[i];
      }
    }
    return null;
  }

  boolean isOpen() {
    return System.getProperty(token) != null;
  }
}
