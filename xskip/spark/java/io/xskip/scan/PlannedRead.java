package io.xskip.scan;

/** The way in which a scan reads its files. */
public interface PlannedRead {
  /** Returns whether the files are read as they were when a rewrite asked about them. */
  boolean isAsPlanned();
}
