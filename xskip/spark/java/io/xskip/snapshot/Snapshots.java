package io.xskip.snapshot;

import java.util.concurrent.ConcurrentHashMap;

/** The snapshots that Python has registered. */
public final class Snapshots {
  /** The present snapshot of each metadata directory. */
  public static final ConcurrentHashMap<String, FileSnapshot> snapshots = new ConcurrentHashMap<>();

  private Snapshots() {}
}
