package io.xskip.rewrite;

import io.xskip.observe.SubqueryValues;
import io.xskip.scan.NumberedListing;
import java.util.BitSet;
import org.apache.spark.sql.catalyst.expressions.Attribute;

/** The files of a relation that can have rows with one of the keys of the other side of a join. */
final class JoinPruning extends FilePruning {
  private static final long serialVersionUID = 1L;

  private final transient Attribute key;

  /**
   * Creates the pruning of a relation.
   *
   * @param key the column of the relation that the join compares
   */
  JoinPruning(NumberedListing listing, Attribute key) {
    super(listing);
    this.key = key;
  }

  boolean isOfColumn(Attribute column) {
    return key.exprId().equals(column.exprId());
  }

  @Override
  public String rewrite() {
    return "join";
  }

  @Override
  public String toString() {
    return "files by keys of " + (key == null ? "a join" : key.name());
  }

  // Equal scans of a plan can share what they read; what they test is in the filter, too.
  @Override
  public boolean equals(Object other) {
    return other instanceof JoinPruning
        && ((JoinPruning) other).key.name().equals(key.name())
        && ((JoinPruning) other).key.dataType().equals(key.dataType());
  }

  @Override
  public int hashCode() {
    return key.name().hashCode();
  }

  @Override
  BitSet matching(NumberedListing listing) throws Throwable {
    Object[] keys = SubqueryValues.joinKeys(this);
    return keys == null ? null : listing.matching(new KeyConditions(key).matching(keys), rewrite());
  }
}
