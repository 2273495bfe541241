package io.xskip.location;

import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.Snapshots;
import java.io.File;
import java.io.FileNotFoundException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.execution.datasources.FileIndex;

/**
 * Finds the indexes of a relation; a result is reused for some time, so that most queries only look
 * into a map.
 */
public final class IndexDiscovery {
  // the number of root paths above which the search begins in their parent directories
  private static final int MAX_ROOT_PATHS = 16;

  private static final int MAX_DATASETS = 8;
  private static final int MAX_DIRECTORIES = 100_000;

  // for how long a directory that cannot be listed counts as one with an index
  private static final int ERROR_MS = 5000;

  private static final Map<String, DirectoryState> DIRECTORIES = new ConcurrentHashMap<>();

  private IndexDiscovery() {}

  private static final class DirectoryState {
    final boolean hasIndex;
    final long expiresAt;

    DirectoryState(boolean hasIndex, long expiresAt) {
      this.hasIndex = hasIndex;
      this.expiresAt = expiresAt;
    }
  }

  /** Forgets which directories contain an index, and the locations in properties of databases. */
  public static void forget() {
    DIRECTORIES.clear();
    CatalogMetadata.forget();
  }

  /**
   * Returns the locations of the indexes of a relation; {@code table} is null for one without a
   * table.
   */
  public static List<IndexLocation> locations(
      FileIndex index, CatalogTable table, SkippingSettings settings) {
    IndexLocation own = own(index, settings);
    if (own != null) {
      List<IndexLocation> locations = new ArrayList<>();
      addFirst(Arrays.asList(own), settings, locations);
      return locations;
    }
    List<Path> starts = new ArrayList<>();
    if (table != null) { // a query can read nothing but partitions with locations of their own
      starts.add(new Path(table.location()));
    }
    boolean isListOfFiles = index.rootPaths().length() > MAX_ROOT_PATHS;
    for (Path root : Scala.list(index.rootPaths())) {
      starts.add(isListOfFiles ? root.getParent() : root);
    }
    return search(starts, table, settings);
  }

  /**
   * Returns the locations of the index of a dataset to which Spark writes, at most one; {@code
   * table} is null for a path.
   */
  public static List<IndexLocation> ofOutput(
      Path output, CatalogTable table, SkippingSettings settings) {
    return search(Arrays.asList(output), table, settings);
  }

  /** Looks for indexes of a table, of paths, and by the table's name, in this order. */
  private static List<IndexLocation> search(
      List<Path> starts, CatalogTable table, SkippingSettings settings) {
    List<IndexLocation> locations = new ArrayList<>();
    if (table != null) {
      addFirst(IndexLocations.ofTable(table, settings), settings, locations);
      if (!locations.isEmpty() || IndexLocations.isChosen(table, settings)) {
        return locations;
      }
    }
    Set<Path> visited = new HashSet<>();
    for (Path start : starts) {
      if (locations.size() >= MAX_DATASETS) {
        break;
      }
      addOfPath(start, visited, settings, locations);
    }
    if (locations.isEmpty() && table != null) {
      addFirst(IndexLocations.byName(table, settings), settings, locations);
    }
    return locations;
  }

  /** Returns the location at which the index of a dataset is created to which Spark writes. */
  public static IndexLocation newLocation(
      Path output, CatalogTable table, SkippingSettings settings) {
    List<IndexLocation> ofTable =
        table == null ? new ArrayList<IndexLocation>() : IndexLocations.ofTable(table, settings);
    return (IndexLocation)
        (ofTable.isEmpty() ? IndexLocations.ofPath(Paths.key(output), settings) : ofTable).get(0);
  }

  /** Returns the location that a file index itself knows, or null. */
  public static IndexLocation own(FileIndex index, SkippingSettings settings) {
    return index instanceof OwnIndexLocation
        ? ((OwnIndexLocation) index).indexLocation(settings)
        : null;
  }

  /**
   * Adds the first index of a path, its parent, and the directories above, up to one that was
   * visited before.
   */
  private static void addOfPath(
      Path start, Set<Path> visited, SkippingSettings settings, List<IndexLocation> locations) {
    for (Path path = start; path != null && visited.add(path); path = path.getParent()) {
      if (isHidden(path)) { // such as the metadata
        return;
      }
      if (addFirst(IndexLocations.ofPath(Paths.key(path), settings), settings, locations)) {
        return;
      }
      if (path != start && path.getName().indexOf('=') <= 0) { // no Hive partition, name=value
        return;
      }
    }
  }

  private static boolean isHidden(Path path) {
    String name = path.getName();
    return name.startsWith(".") || (name.startsWith("_") && name.indexOf('=') < 0);
  }

  /** Adds the first candidate that contains an index, and returns whether there is one. */
  private static boolean addFirst(
      List<IndexLocation> candidates, SkippingSettings settings, List<IndexLocation> locations) {
    for (IndexLocation candidate : candidates) {
      if (hasIndex(candidate.directory(), settings)) {
        locations.add(candidate);
        return true;
      }
    }
    return false;
  }

  private static boolean hasIndex(String directory, SkippingSettings settings) {
    if (Snapshots.snapshots.containsKey(directory)) {
      return true;
    }
    DirectoryState cached = (DirectoryState) DIRECTORIES.get(directory);
    if (cached != null && cached.expiresAt > System.currentTimeMillis()) {
      return cached.hasIndex;
    }
    boolean hasIndex;
    long validMs = settings.rememberMs;
    try {
      hasIndex = containsMetadata(Paths.path(directory));
    } catch (Throwable t) {
      // Whether there is an index is not known: Python reads the directory, and reports the error.
      hasIndex = true;
      validMs = Math.min(validMs, ERROR_MS);
    }
    if (DIRECTORIES.size() > MAX_DIRECTORIES) {
      DIRECTORIES.clear();
    }
    long expiresAt = System.currentTimeMillis() + validMs;
    DIRECTORIES.put(directory, new DirectoryState(hasIndex, expiresAt));
    return hasIndex;
  }

  private static boolean containsMetadata(Path directory) throws Exception {
    FileSystem files = directory.getFileSystem(SparkCompat.hadoopConf());
    FileStatus[] entries;
    try {
      entries = files.listStatus(directory);
    } catch (FileNotFoundException e) {
      if (files.getUri().getScheme().equals("file") && isBelowClosedDirectory(directory)) {
        throw e;
      }
      return false;
    }
    for (FileStatus entry : entries) {
      String name = entry.getPath().getName();
      if (name.equals("_commits") || name.endsWith(".parquet")) {
        return true;
      }
    }
    return false;
  }

  private static boolean isBelowClosedDirectory(Path directory) {
    // Java finds nothing below a directory that its user must not enter.
    File parent = new File(directory.toUri().getPath()).getParentFile();
    while (parent != null && !parent.exists()) {
      parent = parent.getParentFile();
    }
    return parent != null && parent.isDirectory() && !parent.canExecute();
  }
}
