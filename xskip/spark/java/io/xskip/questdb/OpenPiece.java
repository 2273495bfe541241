package io.xskip.questdb;

import java.io.Serializable;

/** The open files of a piece, see {@link OpenFiles}. */
final class OpenPiece implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The folder in which the system has a file for each open descriptor. */
  static final String DESCRIPTORS = "/proc/self/fd/";

  private final String token;
  private final String[] names;
  private final int[] numbers;

  OpenPiece(String token, String[] names, int[] numbers) {
    this.token = token;
    this.names = names;
    this.numbers = numbers;
  }

  /**
   * Returns the path of the descriptor of a file, or null. What was opened by it counts only if
   * {@link #isOpen} still holds then: the number of a closed descriptor can stand for another file.
   */
  String path(String name) {
    for (int i = 0; i < names.length && isOpen(); i++) {
      if (names[i].equals(name)) {
        return DESCRIPTORS + numbers[i];
      }
    }
    return null;
  }

  /** Returns whether the files are still open. */
  boolean isOpen() {
    return System.getProperty(token) != null;
  }
}
