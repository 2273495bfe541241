package io.xskip.scan;

import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.List;

/**
 * The reads of one plan that have decided about each other's files. Their decisions hold only if
 * all of them are read as planned, so all scans of an execution have the same answer.
 */
public final class PlannedReads {
  private final List<PlannedRead> reads = new ArrayList<>();

  /** The execution of the latest answer: each read writes its settings for an answer. */
  private String execution = null;

  private boolean areAsPlanned = false;

  /** Adds a read. */
  public void add(PlannedRead read) {
    reads.add(read);
  }

  /** Returns whether the current execution reads all files as planned. */
  synchronized boolean areAsPlanned() {
    String current = SparkCompat.executionId();
    if (current == null || !current.equals(execution)) {
      areAsPlanned = areAllAsPlanned();
      execution = current;
    }
    return areAsPlanned;
  }

  private boolean areAllAsPlanned() {
    for (PlannedRead read : reads) {
      if (!read.isAsPlanned()) {
        return false;
      }
    }
    return true;
  }
}
