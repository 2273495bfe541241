package io.xskip.common;

import io.xskip.shims.SparkCompat;
import java.net.URI;
import org.apache.hadoop.fs.Path;

/** Paths as keys, the spelling in which the hook and Python name files and directories. */
public final class Paths {
  private Paths() {}

  /**
   * Returns the key of a path, without a trailing slash and a password; all spellings of a local
   * path have the same one.
   */
  public static String key(Path path) {
    URI uri = path.toUri();
    String name = uri.getPath();
    if (name.length() > 1 && name.endsWith("/")) {
      name = name.substring(0, name.length() - 1);
    }
    String scheme = uri.getScheme();
    if (scheme == null || scheme.equals("file")) {
      return name;
    }
    return scheme + "://" + withoutPassword(uri.getAuthority()) + name;
  }

  private static String withoutPassword(String authority) {
    return authority == null ? "" : authority.replaceFirst("^([^:@]*):[^@]*@", "$1@");
  }

  /** Returns the key of the path to which the symbolic links in a key lead. */
  public static String resolved(String key) {
    // Hadoop's local file system lists files under the path that has the links; other file systems
    // have no links, or list files under the path without them.
    if (!key.startsWith("/")) {
      return key;
    }
    try {
      return java.nio.file.Paths.get(key).toRealPath().toString();
    } catch (Exception e) { // there is no such path
      return key;
    }
  }

  /** Returns the path of a key. A key without a scheme is local on any default file system. */
  public static Path path(String key) {
    return new Path(key.startsWith("/") ? "file:" + key : key);
  }

  /** Returns the key of a user's path. A path without a scheme is on the default file system. */
  public static String location(String text) {
    Path path = new Path(text);
    try {
      return key(path.getFileSystem(SparkCompat.hadoopConf()).makeQualified(path));
    } catch (Throwable t) { // an unreachable file system still has names
      return key(path);
    }
  }
}
