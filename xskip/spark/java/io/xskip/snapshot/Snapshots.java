package io.xskip.snapshot;

import java.util.concurrent.ConcurrentHashMap;

/** The snapshots that Python has registered. */
public class Snapshots {
  private Snapshots() {}

  public static final ConcurrentHashMap snapshots =
      new ConcurrentHashMap(); // directory of the metadata -> FileSnapshot
}
