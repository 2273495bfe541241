package io.xskip.read;

import org.apache.spark.sql.execution.datasources.v2.FileScan;

/** Marks a scan of the second data source API that reads files by a scan of Spark. */
public interface FileScanHolder {
  /** Returns the scan of the files, as it was when the query was planned. */
  FileScan fileScan();

  /** Returns the scan without the files that filters left out while the query ran, or null. */
  FileScan filteredScan();

  /** Returns the name of the rewrite that has added the filters, for reports. */
  String rewrite();
}
