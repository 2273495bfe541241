package io.xskip.common;

import java.net.URI;
import org.apache.hadoop.fs.Path;

/** Paths as keys: the form in which the hook and Python name files and directories. */
public class Paths {
  private Paths() {}

  /** file:/a, file:///a and /a are the same; a password in front of a host is left out. */
  public static String key(Path p) {
    URI u = p.toUri();
    String scheme = u.getScheme(), authority = u.getAuthority(), path = u.getPath();
    if (path.length() > 1 && path.endsWith("/")) path = path.substring(0, path.length() - 1);
    boolean local = scheme == null || scheme.equals("file");
    return (local
            ? ""
            : scheme
                + "://"
                + (authority == null ? "" : authority.replaceFirst("^([^:@]*):[^@]*@", "$1@")))
        + path;
  }

  /** A key as a path: one without a scheme is local, whatever the default file system. */
  public static Path path(String key) {
    return new Path(key.startsWith("/") ? "file:" + key : key);
  }

  /** A path of the user's as a key: without a scheme it is of the default file system. */
  public static String location(String path) {
    Path p = new Path(path);
    try {
      return key(p.getFileSystem(SparkCompat.hadoopConf()).makeQualified(p));
    } catch (Throwable t) {
      return key(p);
    }
  }
}
