package io.xskip.snapshot;

/** Files and bytes listed, files that a snapshot knows, files and bytes kept. */
public class PruningCounts {
  private long listed, listedBytes, known, kept, keptBytes;

  void add(long length, boolean isKnown, boolean isKept) {
    listed++;
    listedBytes += length;
    if (isKnown) known++;
    if (isKept) {
      kept++;
      keptBytes += length;
    }
  }

  void add(PruningCounts c) {
    listed += c.listed;
    listedBytes += c.listedBytes;
    known += c.known;
    kept += c.kept;
    keptBytes += c.keptBytes;
  }

  public long[] all() {
    return new long[] {listed, listedBytes, known, kept, keptBytes};
  }
}
