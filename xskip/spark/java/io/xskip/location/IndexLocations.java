package io.xskip.jvm;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.internal.SessionState;

/** Where the metadata of a dataset may be: the dataset's root and the directory as the hook names paths, and the
    identifier in the metadata's files. */
class XSkipPlace {
  final String root, directory, identifier;
  XSkipPlace(String root, String directory, String identifier) {
    this.root = root; this.directory = directory; this.identifier = identifier;
  }
  /** Below a base location, by the digest of the identifier: as xskip.metadatastore.location.metadata_directory. */
  static XSkipPlace below(String base, String root, String identifier) throws Exception {
    byte[] digest = java.security.MessageDigest.getInstance("SHA-256").digest(identifier.getBytes("UTF-8"));
    StringBuilder sb = new StringBuilder(base);
    while (sb.length() > 0 && sb.charAt(sb.length() - 1) == '/') sb.setLength(sb.length() - 1);
    sb.append('/');
    for (int i = 0; i < digest.length; i++) {
      String h = Integer.toHexString(digest[i] & 255);
      sb.append(h.length() == 1 ? "0" : "").append(h);
    }
    return new XSkipPlace(root, sb.toString(), identifier);
  }
  void json(StringBuilder sb) {
    sb.append("{\"root\":"); XSkipEncoder.str(sb, root);
    sb.append(",\"directory\":"); XSkipEncoder.str(sb, directory);
    sb.append(",\"identifier\":"); XSkipEncoder.str(sb, identifier); sb.append('}');
  }
}

/** The places of a dataset, in the order in which they are looked at. */
class XSkipPlaces {
  private static final String[] PROPERTIES = {"io.xskipper.parquet.mdlocation", "spark.ibm.metaindex.parquet.mdlocation"};
  static final ConcurrentHashMap chosen = new ConcurrentHashMap();      // root or db.table -> directory, for this process
  private static final ConcurrentHashMap bases = new ConcurrentHashMap();   // database -> Object[]{until, base or null}

  static void forget() { bases.clear(); }

  /** That of a path: the one chosen for it, else the one below the base location or in the dataset itself. */
  static ArrayList ofPath(String root, XSkipSettings settings) throws Exception {
    ArrayList found = new ArrayList();
    String path = identifier(root), mine = (String) chosen.get(root);
    if (mine != null) found.add(new XSkipPlace(root, mine, path));
    else found.add(XSkipPlace.below(settings.base == null ? root + "/_xskip" : settings.base, root, path));
    return found;
  }
  static boolean isChosen(CatalogTable table) { return chosen.containsKey(name(table)); }
  /** Those of a table: the one chosen for it, else in its properties, and below the location in its database's. */
  static ArrayList ofTable(CatalogTable table, XSkipSettings settings) throws Exception {
    ArrayList found = new ArrayList();
    String root = XSkipHub.key(new Path(table.location())), name = name(table);
    String mine = (String) chosen.get(name);
    if (mine != null) { found.add(new XSkipPlace(root, mine, name)); return found; }
    String own = property(table.properties()), base = base(table.database(), settings);
    if (own != null) found.add(new XSkipPlace(root, XSkipHub.location(own), name));
    if (base != null) found.add(XSkipPlace.below(base, root, name));
    return found;
  }
  /** The last place of a table: by its name below the session's location, where other programs put it. */
  static ArrayList byName(CatalogTable table, XSkipSettings settings) throws Exception {
    ArrayList found = new ArrayList();
    if (settings.base != null) found.add(XSkipPlace.below(settings.base, XSkipHub.key(new Path(table.location())), name(table)));
    return found;
  }
  /** The path alone, without a trailing slash: as xskip.metadata.objects.table_identifier. */
  private static String identifier(String root) {
    String path = root.startsWith("/") ? root : new Path(root).toUri().getPath();
    while (path.length() > 1 && path.endsWith("/")) path = path.substring(0, path.length() - 1);
    return path;
  }
  private static String property(scala.collection.Map properties) {
    for (int i = 0; i < PROPERTIES.length; i++) {
      scala.Option o = properties.get(PROPERTIES[i]);
      if (!o.isEmpty() && o.get().toString().length() > 0) return o.get().toString();
    }
    return null;
  }
  /** The base location in a database's properties, or null; remembered as long as directories are. */
  private static String base(String database, XSkipSettings settings) {
    long now = System.currentTimeMillis();
    Object[] known = (Object[]) bases.get(database);
    if (known != null && ((Long) known[0]).longValue() > now) return (String) known[1];
    String found = null;
    try {
      found = property(XSkipPlans.state(SparkSession.active()).catalog().getDatabaseMetadata(database).properties());
      if (found != null) found = XSkipHub.location(found);
    } catch (Throwable t) { /* no such database any more, or no catalog: there is no location in it */ }
    bases.put(database, new Object[]{new Long(System.currentTimeMillis() + settings.rememberMs), found});
    return found;
  }
  /** The location in a database's properties, or null. */
  static String ofDatabase(Object session, String name) throws Exception {
    SessionCatalog catalog = XSkipPlans.state(session).catalog();
    return catalog.databaseExists(name) ? property(catalog.getDatabaseMetadata(name).properties()) : null;
  }
  /** A table or view of the session's catalog, as JSON: name with database, root, location in its properties; or null. */
  static String table(Object session, String text) throws Exception {
    SessionState state = XSkipPlans.state(session);
    TableIdentifier id;
    try { id = state.sqlParser().parseTableIdentifier(text); } catch (Throwable t) { return null; }   // no name of a table
    if (!state.catalog().tableExists(id)) return null;
    CatalogTable table = state.catalog().getTableMetadata(id);
    boolean view = table.tableType().name().equals("VIEW");
    String own = property(table.properties());
    StringBuilder sb = new StringBuilder("{\"name\":"); XSkipEncoder.str(sb, name(table));
    sb.append(",\"database\":"); XSkipEncoder.str(sb, table.database());
    sb.append(",\"root\":"); XSkipEncoder.str(sb, view ? "" : XSkipHub.key(new Path(table.location())));
    sb.append(",\"location\":"); XSkipEncoder.str(sb, own == null ? "" : XSkipHub.location(own));
    return sb.append(",\"is_view\":").append(view).append('}').toString();
  }
  static String name(CatalogTable table) { return table.database() + "." + table.identifier().table(); }
  static String json(ArrayList places) {
    StringBuilder sb = new StringBuilder("[");
    for (Iterator it = places.iterator(); it.hasNext();) {
      if (sb.length() > 1) sb.append(',');
      ((XSkipPlace) it.next()).json(sb);
    }
    return sb.append(']').toString();
  }
}
