package io.xskip.location;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.internal.SessionState;
import scala.Option;

/** Tables and databases of the session catalog, and the metadata locations in their properties. */
public final class CatalogMetadata {
  // in order of precedence
  private static final String[] LOCATION_PROPERTIES = {
    "io.xskipper.parquet.mdlocation", "spark.ibm.metaindex.parquet.mdlocation"
  };

  private static final Map<String, BaseLocation> BASE_LOCATIONS = new ConcurrentHashMap<>();

  private CatalogMetadata() {}

  private static final class BaseLocation {
    final String location; // null if the properties name none
    final long expiresAt;

    BaseLocation(String location, long expiresAt) {
      this.location = location;
      this.expiresAt = expiresAt;
    }
  }

  /** Forgets the base locations of all databases. */
  public static void forget() {
    BASE_LOCATIONS.clear();
  }

  /** Returns the name of a table with its database, db.table. */
  static String name(CatalogTable table) {
    return table.database() + "." + table.identifier().table();
  }

  /** Returns the metadata location in the properties of a table or database, or null. */
  static String location(scala.collection.Map<String, String> properties) {
    for (String key : LOCATION_PROPERTIES) {
      Option<String> value = properties.get(key);
      if (value.isDefined() && !value.get().toString().isEmpty()) {
        return value.get().toString();
      }
    }
    return null;
  }

  /**
   * Returns the base location in the properties of a database, or null, as it was within {@code
   * rememberMs}.
   */
  static String baseLocation(String database, SkippingSettings settings) {
    BaseLocation cached = (BaseLocation) BASE_LOCATIONS.get(database);
    if (cached != null && cached.expiresAt > System.currentTimeMillis()) {
      return cached.location;
    }
    String location = null;
    try {
      SessionCatalog catalog = SparkCompat.state(settings.session).catalog();
      location = location(catalog.getDatabaseMetadata(database).properties());
      if (location != null) {
        location = Paths.location(location);
      }
    } catch (Throwable t) {
      location = null; // the database or the catalog does not exist any more
    }
    long expiresAt = System.currentTimeMillis() + settings.rememberMs;
    BASE_LOCATIONS.put(database, new BaseLocation(location, expiresAt));
    return location;
  }

  /**
   * Returns the metadata location of a database, or null if it does not exist or its properties
   * name none.
   */
  public static String databaseLocation(Object session, String database) throws Exception {
    SessionCatalog catalog = SparkCompat.state(session).catalog();
    return catalog.databaseExists(database)
        ? location(catalog.getDatabaseMetadata(database).properties())
        : null;
  }

  /**
   * Returns a table or view of the session catalog as JSON, or null if the text is the name of
   * none.
   */
  public static String describeTable(Object session, String text) throws Exception {
    SessionState state = SparkCompat.state(session);
    TableIdentifier identifier;
    try {
      identifier = state.sqlParser().parseTableIdentifier(text);
    } catch (Throwable t) { // the text is not a table's name
      return null;
    }
    if (!state.catalog().tableExists(identifier)) {
      return null;
    }
    return describe(state.catalog().getTableMetadata(identifier));
  }

  private static String describe(final CatalogTable table) {
    final boolean isView = table.tableType().name().equals("VIEW");
    final String location = location(table.properties());
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartObject();
            json.writeStringField("name", name(table));
            json.writeStringField("database", table.database());
            json.writeStringField("root", isView ? "" : Paths.key(new Path(table.location())));
            json.writeStringField("location", location == null ? "" : Paths.location(location));
            json.writeBooleanField("is_view", isView);
            json.writeEndObject();
          }
        });
  }
}
