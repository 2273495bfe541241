package io.xskip.rewrite;

import io.xskip.observe.SubqueryValues;
import io.xskip.scan.NumberedListing;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;

/** The files of a relation that can have rows that a filter with scalar subqueries leaves. */
final class SubqueryPruning extends FilePruning {
  private static final long serialVersionUID = 1L;

  SubqueryPruning(NumberedListing listing) {
    super(listing);
  }

  @Override
  public String rewrite() {
    return "subquery";
  }

  @Override
  public String toString() {
    return "files by values of subqueries";
  }

  @Override
  BitSet matching(NumberedListing listing) throws Throwable {
    List<Expression> conditions = SubqueryValues.conditions(this);
    if (conditions == null) {
      return null;
    }
    for (Expression condition : conditions) {
      boolean isConstant = condition instanceof Literal;
      if (isConstant && !Boolean.TRUE.equals(((Literal) condition).value())) {
        return listing.matching(null, rewrite()); // no row
      }
    }
    return listing.matching(conditions, rewrite());
  }
}
