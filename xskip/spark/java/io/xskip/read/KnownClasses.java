package io.xskip.read;

import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;

/**
 * The classes of relations that the rule prunes: Spark's, whose files have just the rows that Spark
 * reads, those of the hook, and declared ones.
 */
public final class KnownClasses {
  private static final String SQL = "org.apache.spark.sql.";
  private static final String SOURCES = SQL + "execution.datasources.";

  private static final Set<String> FILE_INDEXES =
      setOf(
          SOURCES + "InMemoryFileIndex",
          SOURCES + "CatalogFileIndex",
          SQL + "execution.streaming.MetadataLogFileIndex",
          SQL + "execution.streaming.runtime.MetadataLogFileIndex");

  private static final Set<String> FORMATS =
      setOf(
          SOURCES + "parquet.ParquetFileFormat",
          SOURCES + "orc.OrcFileFormat",
          SQL + "hive.orc.OrcFileFormat",
          SOURCES + "csv.CSVFileFormat",
          SOURCES + "json.JsonFileFormat",
          SOURCES + "text.TextFileFormat",
          SOURCES + "xml.XmlFileFormat",
          SOURCES + "binaryfile.BinaryFileFormat",
          SQL + "avro.AvroFileFormat");

  private static final Set<String> SCANS =
      setOf(
          SOURCES + "v2.parquet.ParquetScan",
          SOURCES + "v2.orc.OrcScan",
          SOURCES + "v2.csv.CSVScan",
          SOURCES + "v2.json.JsonScan",
          SOURCES + "v2.text.TextScan",
          SQL + "v2.avro.AvroScan");

  private KnownClasses() {}

  private static Set<String> setOf(String... names) {
    Set<String> set = ConcurrentHashMap.newKeySet();
    set.addAll(Arrays.asList(names));
    return set;
  }

  /** Declares a class of file indexes whose files contain all rows of the table and no others. */
  public static void declareIndex(String className) {
    FILE_INDEXES.add(className);
  }

  /** Declares a class of formats whose files give the same rows in each relation. */
  public static void declareFormat(String className) {
    FORMATS.add(className);
  }

  // An object that is not of the hook must have exactly one of these classes: a subclass may give
  // files another meaning, as table formats do that store deleted rows separately.
  private static boolean isKnown(FileIndex index) {
    return index instanceof HookFileIndex || FILE_INDEXES.contains(index.getClass().getName());
  }

  private static boolean isKnown(FileFormat format) {
    return format instanceof HookFormat || FORMATS.contains(format.getClass().getName());
  }

  /**
   * Returns whether a plan node is a batch relation of the first data source API that the rule
   * prunes.
   */
  public static boolean isRelation(Object plan) {
    if (plan == null
        || plan.getClass() != LogicalRelation.class
        || ((LogicalRelation) plan).isStreaming()) {
      return false;
    }
    Object relation = ((LogicalRelation) plan).relation();
    return relation.getClass() == HadoopFsRelation.class
        && isKnown(((HadoopFsRelation) relation).fileFormat())
        && isKnown(((HadoopFsRelation) relation).location());
  }

  /** Returns whether a plan node is a scan of the second data source API that the rule prunes. */
  public static boolean isScan(Object plan) {
    if (plan == null || plan.getClass() != DataSourceV2ScanRelation.class) {
      return false;
    }
    Object scan = ((DataSourceV2ScanRelation) plan).scan();
    return SCANS.contains(scan.getClass().getName()) && isKnown(((FileScan) scan).fileIndex());
  }

  /** Returns the scan of files that an object is or holds, or null if it is no scan of files. */
  public static FileScan fileScan(Object scan) {
    if (scan instanceof FileScanHolder) {
      return ((FileScanHolder) scan).fileScan();
    }
    return scan instanceof FileScan ? (FileScan) scan : null;
  }

  /**
   * Returns what the rule does not know in a {@code FileSourceScanExec} or {@code BatchScanExec} of
   * files, or an empty text.
   */
  public static String refusal(Object scan) {
    if (scan instanceof FileSourceScanExec) {
      String refusal = refusal(((FileSourceScanExec) scan).relation());
      return refusal == null ? "" : refusal;
    }
    FileScan fileScan = fileScan(((BatchScanExec) scan).scan());
    if (!SCANS.contains(fileScan.getClass().getName())) {
      return "a scan of the class " + fileScan.getClass().getName();
    }
    FileIndex index = fileScan.fileIndex();
    return isKnown(index) ? "" : "files listed by " + index.getClass().getName();
  }

  /** Returns what the rule does not know in a relation, or null if it knows all classes. */
  public static String refusal(HadoopFsRelation relation) {
    if (!isKnown(relation.fileFormat())) {
      return "files of the format " + relation.fileFormat().getClass().getName();
    }
    if (!isKnown(relation.location())) {
      return "files listed by " + relation.location().getClass().getName();
    }
    return relation.getClass() == HadoopFsRelation.class
        ? null
        : "a relation of the class " + relation.getClass().getName();
  }

  /** Returns the format of a scan's files, such as csv for CSVScan. */
  public static String format(Object scan) {
    return scan.getClass().getSimpleName().replace("Scan", "").toLowerCase(Locale.ROOT);
  }
}
