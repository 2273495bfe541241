package io.xskip.jvm;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileIndex;

/** Which datasets with an index does a relation read from: its root paths, their parents, and above through
    Hive partitions (name=value). What a directory showed is remembered, so that a query without an index costs a look-up. */
class XSkipDiscovery {
  private static final int MAX_FILES = 16, MAX_DATASETS = 8;
  private static final ConcurrentHashMap seen = new ConcurrentHashMap();   // directory -> Long: until when; negative: an index is there

  static void forget() { seen.clear(); }

  static List roots(FileIndex index, XSkipSettings settings) {
    ArrayList found = new ArrayList();
    HashSet visited = new HashSet();
    scala.collection.Iterator it = index.rootPaths().iterator();
    boolean many = index.rootPaths().length() > MAX_FILES;
    while (it.hasNext() && found.size() < MAX_DATASETS) {
      Path p = (Path) it.next();
      if (many) p = p.getParent();                 // a long list of files: their directories are asked, not they
      for (boolean first = true; p != null && visited.add(p); first = false, p = p.getParent()) {
        if (hidden(p)) break;                      // e.g. the metadata itself
        String key = XSkipHub.key(p);
        if (has(p, key, settings)) { if (!found.contains(key)) found.add(key); break; }
        if (!first && p.getName().indexOf('=') <= 0) break;
      }
    }
    return found;
  }
  private static boolean hidden(Path p) {
    String n = p.getName();
    return n.startsWith("_") && n.indexOf('=') < 0 || n.startsWith(".");
  }
  private static boolean has(Path root, String key, XSkipSettings settings) {
    if (XSkipHub.snapshots.containsKey(key)) return true;
    String memo = settings.base == null ? key : settings.base + "\u0000" + key;
    long now = System.currentTimeMillis();
    Long until = (Long) seen.get(memo);
    if (until != null && Math.abs(until.longValue()) > now) return until.longValue() < 0;
    boolean there = false;
    try {
      Path d = new Path(directory(root, settings.base));
      there = d.getFileSystem(XSkipPlans.hadoopConf()).exists(d);
    } catch (Throwable t) {
      there = false;                               // a place that cannot be looked at holds no index for this user
    }
    long expires = now + settings.rememberMs;
    if (seen.size() > 100000) seen.clear();
    seen.put(memo, new Long(there ? -expires : expires));
    return there;
  }
  /** As xskip.metadatastore.location.metadata_directory. */
  static String directory(Path root, String base) throws Exception {
    String path = root.toUri().getPath();
    while (path.length() > 1 && path.endsWith("/")) path = path.substring(0, path.length() - 1);
    byte[] digest = java.security.MessageDigest.getInstance("SHA-256").digest(path.getBytes("UTF-8"));
    StringBuilder hex = new StringBuilder(64);
    for (int i = 0; i < digest.length; i++) {
      String h = Integer.toHexString(digest[i] & 255);
      hex.append(h.length() == 1 ? "0" : "").append(h);
    }
    String home = base == null ? root.toString() + "/_xskip" : base;
    while (home.endsWith("/")) home = home.substring(0, home.length() - 1);
    return home + "/" + hex;
  }
}
