package io.xskip.location;

import io.xskip.common.Json;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.internal.SessionState;

/** The places of a dataset, in the order in which they are looked at. */
public class IndexLocations {
  private static final String[] PROPERTIES = {
    "io.xskipper.parquet.mdlocation", "spark.ibm.metaindex.parquet.mdlocation"
  };
  public static final ConcurrentHashMap chosen =
      new ConcurrentHashMap(); // root or db.table -> directory, for this process
  private static final ConcurrentHashMap bases =
      new ConcurrentHashMap(); // database -> Object[]{until, base or null}

  public static void forget() {
    bases.clear();
  }

  /**
   * That of a path: the one chosen for it, else the one below the base location or in the dataset
   * itself.
   */
  public static ArrayList ofPath(String root, SkippingSettings settings) throws Exception {
    ArrayList found = new ArrayList();
    String path = identifier(root), mine = (String) chosen.get(root);
    if (mine != null) found.add(new IndexLocation(root, mine, path));
    else
      found.add(
          IndexLocation.below(
              settings.base == null ? root + "/_xskip" : settings.base, root, path));
    return found;
  }

  public static boolean isChosen(CatalogTable table) {
    return chosen.containsKey(name(table));
  }

  /**
   * Those of a table: the one chosen for it, else in its properties, and below the location in its
   * database's.
   */
  public static ArrayList ofTable(CatalogTable table, SkippingSettings settings) throws Exception {
    ArrayList found = new ArrayList();
    String root = Paths.key(new Path(table.location())), name = name(table);
    String mine = (String) chosen.get(name);
    if (mine != null) {
      found.add(new IndexLocation(root, mine, name));
      return found;
    }
    String own = property(table.properties()), base = base(table.database(), settings);
    if (own != null) found.add(new IndexLocation(root, Paths.location(own), name));
    if (base != null) found.add(IndexLocation.below(base, root, name));
    return found;
  }

  /**
   * The last place of a table: by its name below the session's location, where other programs put
   * it.
   */
  public static ArrayList byName(CatalogTable table, SkippingSettings settings) throws Exception {
    ArrayList found = new ArrayList();
    if (settings.base != null)
      found.add(
          IndexLocation.below(settings.base, Paths.key(new Path(table.location())), name(table)));
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

  /**
   * The base location in a database's properties, or null; remembered as long as directories are.
   */
  private static String base(String database, SkippingSettings settings) {
    long now = System.currentTimeMillis();
    Object[] known = (Object[]) bases.get(database);
    if (known != null && ((Long) known[0]).longValue() > now) return (String) known[1];
    String found = null;
    try {
      found =
          property(
              SparkCompat.state(SparkSession.active())
                  .catalog()
                  .getDatabaseMetadata(database)
                  .properties());
      if (found != null) found = Paths.location(found);
    } catch (Throwable t) {
      /* no such database any more, or no catalog: there is no location in it */
    }
    bases.put(
        database, new Object[] {new Long(System.currentTimeMillis() + settings.rememberMs), found});
    return found;
  }

  /** The location in a database's properties, or null. */
  public static String ofDatabase(Object session, String name) throws Exception {
    SessionCatalog catalog = SparkCompat.state(session).catalog();
    return catalog.databaseExists(name)
        ? property(catalog.getDatabaseMetadata(name).properties())
        : null;
  }

  /**
   * A table or view of the session's catalog, as JSON: name with database, root, location in its
   * properties; or null.
   */
  public static String table(Object session, String text) throws Exception {
    SessionState state = SparkCompat.state(session);
    TableIdentifier id;
    try {
      id = state.sqlParser().parseTableIdentifier(text);
    } catch (Throwable t) {
      return null;
    } // no name of a table
    if (!state.catalog().tableExists(id)) return null;
    CatalogTable table = state.catalog().getTableMetadata(id);
    boolean view = table.tableType().name().equals("VIEW");
    String own = property(table.properties());
    StringBuilder sb = new StringBuilder("{\"name\":");
    Json.string(sb, name(table));
    sb.append(",\"database\":");
    Json.string(sb, table.database());
    sb.append(",\"root\":");
    Json.string(sb, view ? "" : Paths.key(new Path(table.location())));
    sb.append(",\"location\":");
    Json.string(sb, own == null ? "" : Paths.location(own));
    return sb.append(",\"is_view\":").append(view).append('}').toString();
  }

  static String name(CatalogTable table) {
    return table.database() + "." + table.identifier().table();
  }

  public static String json(ArrayList places) {
    StringBuilder sb = new StringBuilder("[");
    for (Iterator it = places.iterator(); it.hasNext(); ) {
      if (sb.length() > 1) sb.append(',');
      ((IndexLocation) it.next()).json(sb);
    }
    return sb.append(']').toString();
  }
}
