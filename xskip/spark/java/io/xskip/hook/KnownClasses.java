package io.xskip.hook;

import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;

/**
 * The classes of relations that the rule looks at: Spark's own whose files hold just the rows that
 * Spark reads from them, and those that a plugin declared. A class must be one of these itself: a
 * subclass may give files another meaning, as table formats do that keep deleted rows apart. All
 * else stays in its plan as it is.
 */
public class KnownClasses {
  private static final String SPARK = "org.apache.spark.sql.",
      SOURCES = SPARK + "execution.datasources.";
  private static final Set INDEXES =
      set(
          new String[] {
            SOURCES + "InMemoryFileIndex",
            SOURCES + "CatalogFileIndex",
            SPARK + "execution.streaming.MetadataLogFileIndex",
            SPARK + "execution.streaming.runtime.MetadataLogFileIndex",
            "io.xskip.hook.IndexedFileIndex"
          });
  private static final Set FORMATS =
      set(
          new String[] {
            SOURCES + "parquet.ParquetFileFormat",
            SOURCES + "orc.OrcFileFormat",
            SPARK + "hive.orc.OrcFileFormat",
            SOURCES + "csv.CSVFileFormat",
            SOURCES + "json.JsonFileFormat",
            SOURCES + "text.TextFileFormat",
            SOURCES + "xml.XmlFileFormat",
            SOURCES + "binaryfile.BinaryFileFormat",
            SPARK + "avro.AvroFileFormat"
          });
  private static final Set SCANS =
      set(
          new String[] {
            SOURCES + "v2.parquet.ParquetScan",
            SOURCES + "v2.orc.OrcScan",
            SOURCES + "v2.csv.CSVScan",
            SOURCES + "v2.json.JsonScan",
            SOURCES + "v2.text.TextScan",
            SPARK + "v2.avro.AvroScan"
          });

  private static Set set(String[] names) {
    Set found = ConcurrentHashMap.newKeySet();
    found.addAll(Arrays.asList(names));
    return found;
  }

  /** A file index whose files hold all rows of its table and no others. */
  public static void declareIndex(String name) {
    INDEXES.add(name);
  }

  /** A format whose files give the same rows whichever relation reads them. */
  public static void declareFormat(String name) {
    FORMATS.add(name);
  }

  static boolean isIndex(FileIndex index) {
    return INDEXES.contains(index.getClass().getName());
  }

  static boolean isFormat(Object format) {
    return FORMATS.contains(format.getClass().getName());
  }

  /** A relation of the first data source API that may be pruned: batch, of known classes. */
  static boolean isRelation(Object plan) {
    if (plan == null
        || plan.getClass() != LogicalRelation.class
        || ((LogicalRelation) plan).isStreaming()) return false;
    Object r = ((LogicalRelation) plan).relation();
    return r.getClass() == HadoopFsRelation.class
        && isFormat(((HadoopFsRelation) r).fileFormat())
        && isIndex(((HadoopFsRelation) r).location());
  }

  /** A scan of the second data source API that may be pruned. */
  static boolean isScan(Object plan) {
    if (plan == null || plan.getClass() != DataSourceV2ScanRelation.class) return false;
    Object scan = ((DataSourceV2ScanRelation) plan).scan();
    return SCANS.contains(scan.getClass().getName()) && isIndex(((FileScan) scan).fileIndex());
  }

  /** What the rule leaves alone in a physical scan of files, in words; empty where it does not. */
  static String refusal(Object scan) {
    if (scan instanceof FileSourceScanExec) {
      String refused = refusal(((FileSourceScanExec) scan).relation());
      return refused == null ? "" : refused;
    }
    Object v2 = ((BatchScanExec) scan).scan();
    if (!SCANS.contains(v2.getClass().getName()))
      return "a scan of the class " + v2.getClass().getName();
    return isIndex(((FileScan) v2).fileIndex())
        ? ""
        : "files listed by " + ((FileScan) v2).fileIndex().getClass().getName();
  }

  /** The same of a relation; null where the rule looks at it. */
  public static String refusal(HadoopFsRelation r) {
    if (!isFormat(r.fileFormat()))
      return "files of the format " + r.fileFormat().getClass().getName();
    if (!isIndex(r.location())) return "files listed by " + r.location().getClass().getName();
    return r.getClass() == HadoopFsRelation.class
        ? null
        : "a relation of the class " + r.getClass().getName();
  }
}
