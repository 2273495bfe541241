package io.xskip.scan;

import java.util.List;

/** What Spark will ask of a relation when a query runs, for a query that does not run yet. */
interface ScanPreview {
  /** Returns the filters that Spark will pass to the scan, or null if there will be no scan. */
  ListingFilters filters();

  /**
   * Returns the records of the listing that the scan would make, or null if Spark would have to
   * list files for it.
   */
  List<ScanRecord> records();
}
