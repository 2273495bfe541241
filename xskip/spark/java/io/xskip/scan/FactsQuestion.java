package io.xskip.scan;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** What a rewrite asks the indexes about the files of a relation. */
public final class FactsQuestion {
  private final List<Expression> conditions;
  private final List<Expression> columns;

  /**
   * Creates a question.
   *
   * @param conditions the conditions that all rows of a file that matches wholly satisfy
   * @param columns the columns of the relation whose bounds and numbers of NULLs are needed
   */
  public FactsQuestion(List<Expression> conditions, List<Expression> columns) {
    this.conditions = conditions;
    this.columns = columns;
  }

  boolean isThatOf(FactsQuestion other) {
    return conditions.equals(other.conditions) && columns.equals(other.columns);
  }

  List<Expression> conditions() {
    return conditions;
  }

  List<Expression> columns() {
    return columns;
  }
}
