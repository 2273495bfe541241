package io.xskip.scan;

import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.collection.immutable.Seq;

/** The filters that Spark passes to a scan, without those whose values a query has to compute. */
final class ListingFilters {
  final Seq<Expression> partitionFilters;
  final Seq<Expression> dataFilters;

  ListingFilters(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    this.partitionFilters = partitionFilters;
    this.dataFilters = dataFilters;
  }

  boolean areThoseOf(ListingFilters other) {
    return partitionFilters.equals(other.partitionFilters) && dataFilters.equals(other.dataFilters);
  }
}
