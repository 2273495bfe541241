package io.xskip.location;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;

/**
 * The possible locations of a dataset's metadata. Each list of locations has the order in which a
 * query tries them.
 */
public final class IndexLocations {
  private static final String DIRECTORY_IN_DATASET = "/_xskip";

  /**
   * Metadata directories that an instance of Xskipper's API has chosen for the process, by the root
   * of a path or by db.table.
   */
  private static final Map<String, String> CHOSEN_DIRECTORIES = new ConcurrentHashMap<>();

  private IndexLocations() {}

  /**
   * Chooses the metadata directory of a dataset for the rest of the process.
   *
   * @param dataset the root of the dataset, or db.table
   * @param directory the metadata directory; null restores the default locations
   */
  public static void choose(String dataset, String directory) {
    if (directory == null) {
      CHOSEN_DIRECTORIES.remove(dataset);
    } else {
      CHOSEN_DIRECTORIES.put(dataset, directory);
    }
  }

  /** Returns whether the session or the process has chosen the metadata directory of a table. */
  public static boolean isChosen(CatalogTable table, SkippingSettings settings) {
    return chosen(CatalogMetadata.name(table), settings) != null;
  }

  /**
   * Returns the directory that the session, else the process, has chosen for a dataset, or null.
   */
  private static String chosen(String dataset, SkippingSettings settings) {
    String directory = (String) settings.places.get(dataset);
    return directory == null ? (String) CHOSEN_DIRECTORIES.get(dataset) : directory;
  }

  /** Forgets the locations that were read from the properties of databases. */
  public static void forget() {
    CatalogMetadata.forget();
  }

  /**
   * Returns the locations of a path's metadata: the chosen directory, else the directory below the
   * base location of the session, else the directory in the dataset. The path to which symbolic
   * links lead comes first. An index can have the name of the path with the links, too.
   */
  public static List<IndexLocation> ofPath(String listed, SkippingSettings settings) {
    List<IndexLocation> locations = new ArrayList<>();
    String resolved = Paths.resolved(listed);
    String directory = chosen(listed, settings);
    String another = chosen(resolved, settings);
    if (directory != null) {
      locations.add(new IndexLocation(listed, listed, directory, identifier(listed)));
    } else if (another != null) {
      locations.add(new IndexLocation(listed, resolved, another, identifier(resolved)));
    } else {
      locations.add(below(listed, resolved, settings));
      if (!resolved.equals(listed)) {
        locations.add(below(listed, listed, settings));
      }
    }
    return locations;
  }

  private static IndexLocation below(String listed, String root, SkippingSettings settings) {
    String base = settings.base == null ? root + DIRECTORY_IN_DATASET : settings.base;
    return IndexLocation.below(base, listed, root, identifier(root));
  }

  /**
   * Returns the locations of a table's metadata: the chosen directory, else the directory in the
   * properties of the table and the directory below the base location in the properties of its
   * database.
   */
  public static List<IndexLocation> ofTable(CatalogTable table, SkippingSettings settings) {
    List<IndexLocation> locations = new ArrayList<>();
    String root = root(table);
    String name = CatalogMetadata.name(table);
    String directory = chosen(name, settings);
    if (directory != null) {
      locations.add(new IndexLocation(root, root, directory, name));
      return locations;
    }
    String property = CatalogMetadata.location(table.properties());
    if (property != null) {
      locations.add(new IndexLocation(root, root, Paths.location(property), name));
    }
    String base = CatalogMetadata.baseLocation(table.database(), settings);
    if (base != null) {
      locations.add(IndexLocation.below(base, root, root, name));
    }
    return locations;
  }

  /**
   * Returns the last location of a table's metadata: the directory below the base location of the
   * session that other programs derive from the name of the table. The list is empty if the session
   * has no base location.
   */
  public static List<IndexLocation> byName(CatalogTable table, SkippingSettings settings) {
    List<IndexLocation> locations = new ArrayList<>();
    if (settings.base != null) {
      String root = root(table);
      locations.add(IndexLocation.below(settings.base, root, root, CatalogMetadata.name(table)));
    }
    return locations;
  }

  /** Returns locations as a JSON array of objects. */
  public static String json(final List<IndexLocation> locations) {
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (IndexLocation location : locations) {
              location.writeTo(json);
            }
            json.writeEndArray();
          }
        });
  }

  private static String root(CatalogTable table) {
    return Paths.key(new Path(table.location()));
  }

  /** Returns the location of a dataset whose metadata are in a directory, both as keys of Paths. */
  public static IndexLocation at(String root, String directory) {
    return new IndexLocation(root, root, directory, identifier(root));
  }

  /**
   * Returns the path of a root without scheme, authority and trailing slashes. {@code
   * xskip.metadata.data_files.table_identifier} in Python computes the same identifier.
   */
  private static String identifier(String root) {
    String path = root.startsWith("/") ? root : new Path(root).toUri().getPath();
    while (path.length() > 1 && path.endsWith("/")) {
      path = path.substring(0, path.length() - 1);
    }
    return path;
  }
}
