package io.xskip.write;

import io.xskip.common.Paths;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;

/** The indexes that an option of a writer, or a property of a table, requests for a dataset. */
final class RequestedIndexes {
  private static final String KEY = "xskip.index";
  private static final int MAX_ANNOUNCED = 100;

  /** The indexes of tables that are being created, by the keys of their paths. */
  private static final Map<Object, Object> ANNOUNCED =
      Collections.synchronizedMap(new LinkedHashMap<Object, Object>());

  private RequestedIndexes() {}

  /** Returns the text of the indexes that a write requests, or null. */
  static String of(InsertIntoHadoopFsRelationCommand command, CatalogTable table, Path output) {
    String announced = (String) ANNOUNCED.remove(Paths.key(output));
    String option = in(command.options());
    if (option != null) {
      return option;
    }
    return table == null ? announced : in(table.properties());
  }

  /**
   * Notes the indexes of a table before Spark writes its files: the command that writes them does
   * not know the properties of the table.
   */
  static void announce(CreateDataSourceTableAsSelectCommand command, Object session)
      throws Exception {
    CatalogTable table = command.table();
    String indexes = in(table.properties());
    if (indexes == null) {
      return;
    }
    java.net.URI uri =
        table.storage().locationUri().isEmpty()
            ? SparkCompat.state(session).catalog().defaultTablePath(table.identifier())
            : (java.net.URI) table.storage().locationUri().get();
    if (ANNOUNCED.size() > MAX_ANNOUNCED) {
      ANNOUNCED.clear();
    }
    ANNOUNCED.put(Paths.location(uri.toString()), indexes);
  }

  private static String in(scala.collection.Map<String, String> entries) {
    for (Map.Entry<Object, Object> entry : Scala.map(entries).entrySet()) {
      if (KEY.equalsIgnoreCase((String) entry.getKey())) {
        return (String) entry.getValue();
      }
    }
    return null;
  }
}
