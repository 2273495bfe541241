package io.xskip.bridge;

import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.location.CatalogMetadata;
import io.xskip.location.IndexDiscovery;
import io.xskip.location.IndexLocations;
import org.apache.hadoop.fs.Path;

/**
 * The methods on paths, as keys of {@link Paths}, on the locations of indexes, and on tables of the
 * catalog.
 */
public final class LocationCalls {
  public String normalized(String path) {
    return Paths.key(new Path(path));
  }

  /** Returns a user's path as a key; without a scheme it is on the default file system. */
  public String qualified(String path) {
    return Paths.location(path);
  }

  /** Returns the key of the path to which the symbolic links in a key lead. */
  public String resolved(String key) {
    return Paths.resolved(key);
  }

  /**
   * Chooses the metadata directory of a dataset (its root, or db.table) for the process; null
   * restores the default.
   */
  public void choose(String dataset, String directory) {
    IndexLocations.choose(dataset, directory);
  }

  /** Returns the possible locations of the metadata of a path in a session, as JSON. */
  public String ofPath(Object session, String root) throws Exception {
    return IndexLocations.json(IndexLocations.ofPath(root, new SkippingSettings(session)));
  }

  /** Returns a table or view of the catalog as JSON, or null if there is none of that name. */
  public String table(Object session, String name) throws Exception {
    return CatalogMetadata.describeTable(session, name);
  }

  /** Returns the metadata location in the properties of a database, or null. */
  public String databaseLocation(Object session, String name) throws Exception {
    return CatalogMetadata.databaseLocation(session, name);
  }

  /** Forgets which directories contain an index, because one was created or dropped. */
  public void forgetDirectories() {
    IndexDiscovery.forget();
  }
}
