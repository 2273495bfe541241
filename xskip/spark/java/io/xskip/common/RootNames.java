package io.xskip.common;

/** The two names of a root to which a symbolic link leads, both as keys of {@link Paths}. */
public final class RootNames {
  private final String listed; // the path by which Spark lists the root
  private final String recorded; // the path without links, by which an index names the files

  public RootNames(String listed, String recorded) {
    this.listed = listed;
    this.recorded = recorded;
  }

  public String listed() {
    return listed;
  }

  public String recorded(String path) {
    return exchange(path, listed, recorded);
  }

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
