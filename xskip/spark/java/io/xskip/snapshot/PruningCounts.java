package io.xskip.snapshot;

/** Counts of the files of a listing: all files, the files of the snapshot, and the kept files. */
public final class PruningCounts {
  private long listed;
  private long listedBytes;
  private long known;
  private long kept;
  private long keptBytes;

  /**
   * Counts a file.
   *
   * @param isKnown whether the snapshot has the file
   * @param isKept whether the query reads the file
   */
  void add(long length, boolean isKnown, boolean isKept) {
    listed++;
    listedBytes += length;
    if (isKnown) {
      known++;
    }
    if (isKept) {
      kept++;
      keptBytes += length;
    }
  }

  /** Adds the counts of another listing. */
  void add(PruningCounts other) {
    listed += other.listed;
    listedBytes += other.listedBytes;
    known += other.known;
    kept += other.kept;
    keptBytes += other.keptBytes;
  }

  /** Leaves out bytes of kept files that the query does not read. */
  void leaveOut(long bytes) {
    keptBytes -= bytes;
  }

  /** Returns listed files, listed bytes, known files, kept files and kept bytes. */
  public long[] all() {
    return new long[] {listed, listedBytes, known, kept, keptBytes};
  }
}
