package io.xskip.scan;

import java.util.List;

/** The listing that the scan of a relation would make, for the text of a query that did not run. */
interface ScanPreview {
  /** Returns the records of the listing, or null if Spark would have to list files for it. */
  List<ScanRecord> records();
}
