package io.xskip.rewrite;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * The predicates of which a rewrite needs the files where no row, or where all rows satisfy them.
 */
final class FactPredicates {
  private final List<Expression> predicates = new ArrayList<>();

  /** Returns the position of a predicate in the question, and adds the predicate if it is new. */
  int position(Expression predicate) {
    for (int i = 0; i < predicates.size(); i++) {
      if (((Expression) predicates.get(i)).semanticEquals(predicate)) {
        return i;
      }
    }
    predicates.add(predicate);
    return predicates.size() - 1;
  }

  List<Expression> all() {
    return predicates;
  }
}
