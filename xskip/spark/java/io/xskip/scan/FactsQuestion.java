package io.xskip.scan;

import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** What a rewrite asks the indexes about the files of a relation. */
public final class FactsQuestion {
  private final List<Expression> conditions;
  private final List<Expression> columns;
  private final List<Expression> predicates;

  /** Creates a question without predicates. */
  public FactsQuestion(List<Expression> conditions, List<Expression> columns) {
    this(conditions, columns, Collections.<Expression>emptyList());
  }

  /**
   * Creates a question.
   *
   * @param conditions the conditions that all rows of a file that matches wholly satisfy
   * @param columns the columns of the relation whose bounds and numbers of NULLs are needed
   * @param predicates the predicates of which the files are needed where no row, and where all rows
   *     satisfy them
   */
  public FactsQuestion(
      List<Expression> conditions, List<Expression> columns, List<Expression> predicates) {
    this.conditions = conditions;
    this.columns = columns;
    this.predicates = predicates;
  }

  boolean isThatOf(FactsQuestion other) {
    return conditions.equals(other.conditions)
        && columns.equals(other.columns)
        && predicates.equals(other.predicates);
  }

  List<Expression> conditions() {
    return conditions;
  }

  List<Expression> columns() {
    return columns;
  }

  List<Expression> predicates() {
    return predicates;
  }
}
