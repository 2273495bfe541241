package io.xskip.write;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/**
 * The modification times of files as listings have them, by which Spark finds files. Some object
 * stores tell the time of a single file in seconds, and that of a listed one in milliseconds.
 */
final class FileTimes {
  // a time in milliseconds is one of whole seconds by chance, but not that often
  private static final int MIN_AGREEMENTS = 3;

  /** How often a file system told the same time in both ways, or -1 if it did not, by its URI. */
  private static final Map<String, Integer> AGREEMENTS = new ConcurrentHashMap<>();

  private FileTimes() {}

  /** Returns files with the states that listings have. */
  static List<WrittenFile> asListed(List<WrittenFile> files, FileSystem system) throws Exception {
    if (files.isEmpty() || timesAgree(((WrittenFile) files.get(0)).status, system)) {
      return files;
    }
    Set<Path> directories = new HashSet<>();
    for (WrittenFile file : files) {
      directories.add(file.status.getPath().getParent());
    }
    Map<Path, FileStatus> listed = new HashMap<>();
    for (Path directory : directories) {
      for (FileStatus status : system.listStatus(directory)) {
        listed.put(status.getPath(), status);
      }
    }
    List<WrittenFile> found = new ArrayList<>();
    for (WrittenFile file : files) {
      FileStatus status = (FileStatus) listed.get(file.status.getPath());
      if (status != null) {
        found.add(new WrittenFile(status, file.result));
      }
    }
    return found;
  }

  private static boolean timesAgree(FileStatus file, FileSystem system) throws Exception {
    String uri = system.getUri().toString();
    if (uri.startsWith("file:") || uri.startsWith("hdfs:")) {
      return true;
    }
    Integer known = (Integer) AGREEMENTS.get(uri);
    int agreed = known == null ? 0 : known.intValue();
    if (agreed < 0 || agreed >= MIN_AGREEMENTS) {
      return agreed > 0;
    }
    RemoteIterator<FileStatus> listing = system.listStatusIterator(file.getPath().getParent());
    while (listing.hasNext()) {
      FileStatus listed = (FileStatus) listing.next();
      if (listed.getPath().equals(file.getPath())) {
        boolean agree = listed.getModificationTime() == file.getModificationTime();
        AGREEMENTS.put(uri, Integer.valueOf(agree ? agreed + 1 : -1));
        return agree;
      }
    }
    return false;
  }
}
