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

/** The possible locations of a dataset's metadata, in the order in which a query tries them. */
public final class IndexLocations {
  private static final String DIRECTORY_IN_DATASET = "/_xskip";

  // metadata directories that an instance of Xskipper's API has chosen for the process, by the root
  // of a path or by db.table
  private static final Map<String, String> CHOSEN_DIRECTORIES = new ConcurrentHashMap<>();

  private IndexLocations() {}

  /**
   * Chooses the metadata directory of a dataset (its root, or db.table) for the process; null
   * restores the default.
   */
  public static void choose(String dataset, String directory) {
    if (directory == null) {
      CHOSEN_DIRECTORIES.remove(dataset);
    } else {
      CHOSEN_DIRECTORIES.put(dataset, directory);
    }
  }

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

  /**
   * Returns the locations of a path's metadata: chosen, else below the session's base location,
   * else in the dataset.
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
      // The path to which symbolic links lead comes first; an index can have the other name, too.
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
   * Returns the locations of a table's metadata: chosen, else in its properties, and below the base
   * location of its database.
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
   * Returns the location below the session's base location that other programs derive from a
   * table's name, if there is one.
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
   * Returns the path of a root without scheme, authority and trailing slashes, as {@code
   * table_identifier} of {@code xskip.metadata.data_files} in Python.
   */
  private static String identifier(String root) {
    String path = root.startsWith("/") ? root : new Path(root).toUri().getPath();
    while (path.length() > 1 && path.endsWith("/")) {
      path = path.substring(0, path.length() - 1);
    }
    return path;
  }
}
