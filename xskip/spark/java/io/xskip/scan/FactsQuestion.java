package io.xskip.scan;

import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** What a rewrite asks the indexes about the files of a relation. */
public final class FactsQuestion {
  private final List<Expression> conditions;
  private final List<Expression> columns;
  private final List<Expression> predicates;
  private final List<String> needs;
  private final int rows;
  private final boolean takesParts;

  /**
   * Creates a question without predicates. The answer can be about parts of files: a scan that
   * cannot read only these reads more rows.
   *
   * @param needs what the rewrite does with each column, see [JVM-RQ-6]
   * @param rows the number of rows that the query needs, or 0 for all
   */
  public FactsQuestion(
      List<Expression> conditions, List<Expression> columns, List<String> needs, int rows) {
    this(conditions, columns, needs, Collections.<Expression>emptyList(), rows, true);
  }

  /**
   * Creates a question about all rows, whose answer is about whole files.
   *
   * @param conditions the conditions that all rows of a file that matches wholly satisfy
   * @param columns the columns of the relation whose bounds and numbers of NULLs are needed
   * @param needs what the rewrite does with each column, see [JVM-RQ-6]
   * @param predicates the predicates of which the files are needed where no row, and where all rows
   *     satisfy them
   */
  public FactsQuestion(
      List<Expression> conditions,
      List<Expression> columns,
      List<String> needs,
      List<Expression> predicates) {
    this(conditions, columns, needs, predicates, 0, false);
  }

  private FactsQuestion(
      List<Expression> conditions,
      List<Expression> columns,
      List<String> needs,
      List<Expression> predicates,
      int rows,
      boolean takesParts) {
    this.conditions = conditions;
    this.columns = columns;
    this.needs = needs;
    this.predicates = predicates;
    this.rows = rows;
    this.takesParts = takesParts;
  }

  boolean isThatOf(FactsQuestion other) {
    return conditions.equals(other.conditions)
        && columns.equals(other.columns)
        && needs.equals(other.needs)
        && rows == other.rows
        && takesParts == other.takesParts
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

  /** Returns what the rewrite does with each column. */
  List<String> needs() {
    return needs;
  }

  /** Returns whether the answer can be about parts of files. */
  boolean takesParts() {
    return takesParts;
  }

  /** Returns the number of rows that the query needs, or 0 for all. */
  int rows() {
    return rows;
  }
}
