package io.xskip.common;

/**
 * The two names of a root to which a symbolic link leads: the path by which Spark lists it, and the
 * path without links, by which an index names the files.
 */
public final class RootNames {
  private final String listed;
  private final String recorded;

  /**
   * Creates the names of a root.
   *
   * @param listed the path by which Spark lists the root, as a key of {@link Paths}
   * @param recorded the path without symbolic links, as a key of {@link Paths}
   */
  public RootNames(String listed, String recorded) {
    this.listed = listed;
    this.recorded = recorded;
  }

  public String listed() {
    return listed;
  }

  /** Returns the name in the index of a path that Spark lists. */
  public String recorded(String path) {
    return exchange(path, listed, recorded);
  }

  /** Returns the path by which Spark lists a file of the index. */
  public String listed(String name) {
    return exchange(name, recorded, listed);
  }

  private static String exchange(String path, String root, String other) {
    boolean isBelow =
        path.startsWith(root)
            && (path.length() == root.length() || path.charAt(root.length()) == '/');
    return isBelow ? other + path.substring(root.length()) : path;
  }
}
