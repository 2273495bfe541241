package io.xskip.location;

import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import io.xskip.snapshot.Snapshots;
import java.io.FileNotFoundException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.execution.datasources.FileIndex;

/**
 * Which indexes does a relation ask: its table's, else those of its root paths, their parents, and
 * above through Hive partitions (name=value). What a directory showed is remembered, so that a
 * query without an index costs a look-up.
 */
public class IndexDiscovery {
  private static final int MAX_FILES = 16, MAX_DATASETS = 8, UNKNOWN_MS = 5000;
  private static final ConcurrentHashMap seen =
      new ConcurrentHashMap(); // directory -> Long: until when; negative: an index is there

  public static void forget() {
    seen.clear();
    IndexLocations.forget();
  }

  public static List places(FileIndex index, Object table, SkippingSettings settings)
      throws Exception {
    ArrayList found = new ArrayList();
    IndexLocation own =
        table == null
            ? null
            : first(IndexLocations.ofTable((CatalogTable) table, settings), settings);
    if (own != null) found.add(own);
    if (own != null || table != null && IndexLocations.isChosen((CatalogTable) table)) return found;
    ofRoots(index, settings, found);
    if (found.isEmpty() && table != null) {
      own = first(IndexLocations.byName((CatalogTable) table, settings), settings);
      if (own != null) found.add(own);
    }
    return found;
  }

  private static void ofRoots(FileIndex index, SkippingSettings settings, List found)
      throws Exception {
    HashSet visited = new HashSet();
    scala.collection.Iterator it = index.rootPaths().iterator();
    boolean many = index.rootPaths().length() > MAX_FILES;
    while (it.hasNext() && found.size() < MAX_DATASETS) {
      Path p = (Path) it.next();
      if (many) p = p.getParent(); // a long list of files: their directories are asked, not they
      for (boolean first = true; p != null && visited.add(p); first = false, p = p.getParent()) {
        if (hidden(p)) break; // e.g. the metadata itself
        IndexLocation place = first(IndexLocations.ofPath(Paths.key(p), settings), settings);
        if (place != null) {
          found.add(place);
          break;
        }
        if (!first && p.getName().indexOf('=') <= 0) break;
      }
    }
  }

  private static boolean hidden(Path p) {
    String n = p.getName();
    return n.startsWith("_") && n.indexOf('=') < 0 || n.startsWith(".");
  }

  private static IndexLocation first(List places, SkippingSettings settings) {
    for (Iterator it = places.iterator(); it.hasNext(); ) {
      IndexLocation place = (IndexLocation) it.next();
      if (there(place.directory, settings)) return place;
    }
    return null;
  }

  private static boolean there(String directory, SkippingSettings settings) {
    if (Snapshots.snapshots.containsKey(directory)) return true;
    long now = System.currentTimeMillis();
    Long until = (Long) seen.get(directory);
    if (until != null && Math.abs(until.longValue()) > now) return until.longValue() < 0;
    boolean there = false;
    long expires = settings.rememberMs;
    try {
      Path d = Paths.path(directory);
      FileStatus[] found = d.getFileSystem(SparkCompat.hadoopConf()).listStatus(d);
      for (int i = 0; i < found.length && !there; i++) {
        String n = found[i].getPath().getName();
        there = n.equals("_commits") || n.endsWith(".parquet");
      }
    } catch (FileNotFoundException e) {
      there = false;
    } catch (
        Throwable t) { // whether there is an index is not known: Python looks, and says why not
      there = true;
      expires = Math.min(settings.rememberMs, UNKNOWN_MS);
    }
    expires += System.currentTimeMillis();
    if (seen.size() > 100000) seen.clear();
    seen.put(directory, new Long(there ? -expires : expires));
    return there;
  }
}
