package io.xskip.write;

import io.xskip.common.Paths;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.net.URI;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;

/** The indexes that an option of a writer, or a property of a table, requests for a dataset. */
final class RequestedIndexes {
  private static final String KEY = "xskip.index";

  // Spark can plan the creation of a table without creating it
  private static final long VALID_MS = 60_000;

  /** The latest table that the thread creates: the key of its path, its indexes, and when. */
  private static final ThreadLocal<Object[]> ANNOUNCED = new ThreadLocal<>();

  private RequestedIndexes() {}

  /** Returns the text of the indexes that a write requests, or null. */
  static String of(InsertIntoHadoopFsRelationCommand command, CatalogTable table, Path output) {
    String option = in(command.options());
    if (option != null) {
      return option;
    }
    return table == null ? announced(Paths.key(output)) : in(table.properties());
  }

  private static String announced(String output) {
    Object[] announced = (Object[]) ANNOUNCED.get();
    ANNOUNCED.remove();
    boolean isValid =
        announced != null
            && output.equals(announced[0])
            && System.currentTimeMillis() - ((Long) announced[2]).longValue() < VALID_MS;
    return isValid ? (String) announced[1] : null;
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
    URI uri = (URI) Scala.orNull(table.storage().locationUri());
    if (uri == null) {
      uri = SparkCompat.state(session).catalog().defaultTablePath(table.identifier());
    }
    Long now = Long.valueOf(System.currentTimeMillis());
    Path path = new Path(uri);
    String key = Paths.key(path.getFileSystem(SparkCompat.hadoopConf()).makeQualified(path));
    ANNOUNCED.set(new Object[] {key, indexes, now});
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
