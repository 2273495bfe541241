package io.xskip.scan;

import io.xskip.common.Failures;
import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** The files of a scan that conditions leave which are known only while the query runs. */
public final class RuntimeListing {
  private final RuntimeRequest request;

  /** Conditions that each matching row satisfies, or null if no row matches. */
  private final List<Expression> conditions;

  private final String rewrite;
  private Seq<PartitionDirectory> whole = null;
  private Seq<PartitionDirectory> left = null;

  /**
   * Creates a listing.
   *
   * @param conditions conditions that each matching row satisfies, or null if no row matches
   * @param rewrite the name of the rewrite that knows the conditions
   */
  public RuntimeListing(
      ScanContext context,
      StructType partitionSchema,
      List<Expression> conditions,
      String rewrite) {
    this.request = new RuntimeRequest(context, partitionSchema);
    this.conditions = conditions;
    this.rewrite = rewrite;
  }

  /** Returns the files of a listing that can have a matching row; after an error, all of them. */
  public synchronized Seq<PartitionDirectory> files(Seq<PartitionDirectory> listing) {
    if (whole != listing) {
      left = listing;
      try {
        Seq<PartitionDirectory> found = matching(listing);
        left = found == null ? listing : found;
      } catch (Throwable t) {
        Failures.logFailure("pruning while a query runs", t);
      }
      whole = listing;
    }
    return left;
  }

  private Seq<PartitionDirectory> matching(Seq<PartitionDirectory> listing) throws Throwable {
    return conditions == null
        ? (Seq<PartitionDirectory>) Scala.seq(new ArrayList<PartitionDirectory>())
        : request.prune(listing, conditions, rewrite);
  }
}
