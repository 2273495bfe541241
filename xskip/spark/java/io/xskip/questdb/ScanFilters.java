package io.xskip.questdb;

import java.io.Serializable;
import org.apache.spark.sql.sources.Filter;
import scala.collection.immutable.Seq;

/** The filters of a scan, by which rows of a piece are left out. */
final class ScanFilters implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The times outside of which no row is needed. */
  final TimeRange range;

  /** The filters for values of text, outside of which no row is needed. */
  final SymbolFilter[] symbols;

  final GroupFilter groups;

  /**
   * Creates the filters of a scan.
   *
   * @param filters the filters that all rows of the result match
   * @param timestamp the name of the designated timestamp, or null
   */
  ScanFilters(Seq<Filter> filters, String timestamp) {
    range = TimeRange.of(filters, timestamp);
    symbols = SymbolFilter.of(filters);
    groups = new GroupFilter(filters);
  }
}
