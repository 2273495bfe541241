package io.xskip.questdb;

import java.io.Serializable;
import org.apache.spark.sql.sources.Filter;
import scala.collection.immutable.Seq;

/** The filters of a scan, outside of which no row is needed; they leave out rows of a piece. */
final class ScanFilters implements Serializable {
  private static final long serialVersionUID = 1L;

  final TimeRange range;
  final SymbolFilter[] symbols;
  final GroupFilter groups;

  /** Creates the filters of a scan; the designated timestamp can be null. */
  ScanFilters(Seq<Filter> filters, String timestamp) {
    range = TimeRange.of(filters, timestamp);
    symbols = SymbolFilter.of(filters);
    groups = new GroupFilter(filters);
  }
}
