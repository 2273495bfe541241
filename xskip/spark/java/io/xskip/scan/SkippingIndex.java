package io.xskip.scan;

import org.apache.spark.sql.execution.datasources.FileIndex;

/** A file index that lists the files of an indexed relation without those that indexes rule out. */
public interface SkippingIndex {
  ScanContext context();

  /** Returns the file index that lists all files. */
  FileIndex delegate();

  ScanListing listing();

  /** Forgets the latest listing, so that the next one asks the indexes. */
  void forgetListing();
}
