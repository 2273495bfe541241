package io.xskip.rewrite;

import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import org.apache.spark.sql.types.DataType;

/** What an aggregate is about: a constant or a column in each file where it is known which. */
abstract class AggregateOperand {
  /** The operand of which metadata know nothing. */
  static final AggregateOperand UNKNOWN = new Unknown();

  /** The operand that is NULL in all rows, as that of an aggregate whose FILTER is not TRUE. */
  static final AggregateOperand NULL = new Constant(null);

  /** Returns the operand in a file, which is no choice. */
  AggregateOperand in(FileFacts files, int position) {
    return this;
  }

  /** Returns whether metadata can know something of the operand in some files. */
  boolean isKnowable() {
    return true;
  }

  /**
   * Notes what an aggregate does with the column that the operand is, if it is one in all files.
   */
  void addNeed(FactColumns columns, String need) {}

  /** Returns how many rows of a file have a value other than NULL, or a negative number. */
  abstract long values(FileFacts files, ColumnFacts[] facts, int position);

  /** Returns whether the least and the greatest value of a file are known, if there is one. */
  abstract boolean hasBounds(FileFacts files, ColumnFacts[] facts, int position);

  /** Returns the least or the greatest value of a file with bounds, or null without a value. */
  abstract Object bound(FileFacts files, ColumnFacts[] facts, int position, boolean isLeast);

  private static final class Unknown extends AggregateOperand {
    @Override
    boolean isKnowable() {
      return false;
    }

    @Override
    long values(FileFacts files, ColumnFacts[] facts, int position) {
      return -1;
    }

    @Override
    boolean hasBounds(FileFacts files, ColumnFacts[] facts, int position) {
      return false;
    }

    @Override
    Object bound(FileFacts files, ColumnFacts[] facts, int position, boolean isLeast) {
      return null;
    }
  }

  /** The same value in all rows, or NULL. */
  static final class Constant extends AggregateOperand {
    private final Object value;

    /** Creates a constant in Catalyst's form. */
    Constant(Object value) {
      this.value = value;
    }

    Object value() {
      return value;
    }

    @Override
    long values(FileFacts files, ColumnFacts[] facts, int position) {
      return value == null ? 0 : files.rows(position);
    }

    @Override
    boolean hasBounds(FileFacts files, ColumnFacts[] facts, int position) {
      return !(value instanceof Float || value instanceof Double); // zeros and NaN have many forms
    }

    @Override
    Object bound(FileFacts files, ColumnFacts[] facts, int position, boolean isLeast) {
      return files.rows(position) == 0 ? null : value;
    }
  }

  /** A column of the relation. */
  static final class Column extends AggregateOperand {
    private final int column;
    private final int partition;
    private final DataType type;
    private final boolean isExact;

    /**
     * Creates a column.
     *
     * @param column its position among the columns of the question, or -1 for a partition column
     * @param partition its position among the partition columns, or -1
     * @param isExact whether the column is one of {@link ExactColumns}
     */
    Column(int column, int partition, DataType type, boolean isExact) {
      this.column = column;
      this.partition = partition;
      this.type = type;
      this.isExact = isExact;
    }

    @Override
    void addNeed(FactColumns columns, String need) {
      if (column >= 0) {
        columns.addNeed(column, need.equals("bounds") && !isExact ? "rows" : need);
      }
    }

    private FileBounds bounds(FileFacts files, ColumnFacts[] facts) {
      return new FileBounds(files, column < 0 ? null : facts[column], partition, type);
    }

    @Override
    long values(FileFacts files, ColumnFacts[] facts, int position) {
      if (column < 0) {
        return bounds(files, facts).isEmpty(position) ? 0 : files.rows(position);
      }
      long nulls = facts[column].nulls(files.ordinal(position));
      return nulls < 0 ? -1 : files.rows(position) - nulls;
    }

    @Override
    boolean hasBounds(FileFacts files, ColumnFacts[] facts, int position) {
      FileBounds bounds = bounds(files, facts);
      return isExact && (bounds.isEmpty(position) || bounds.isExact(position));
    }

    @Override
    Object bound(FileFacts files, ColumnFacts[] facts, int position, boolean isLeast) {
      if (files.rows(position) == 0) {
        return null;
      }
      FileBounds bounds = bounds(files, facts);
      return isLeast ? bounds.low(position) : bounds.high(position);
    }
  }

  /** One operand in the rows that satisfy a predicate, and another one in all other rows. */
  static final class Choice extends AggregateOperand {
    private final int predicate;
    private final AggregateOperand match;
    private final AggregateOperand other;

    /**
     * Creates a choice.
     *
     * @param predicate the position of the predicate among those of the question
     */
    Choice(int predicate, AggregateOperand match, AggregateOperand other) {
      this.predicate = predicate;
      this.match = match;
      this.other = other;
    }

    @Override
    AggregateOperand in(FileFacts files, int position) {
      if (files.matchesWholly(position, predicate)) {
        return match.in(files, position);
      }
      return files.matchesNowhere(position, predicate) ? other.in(files, position) : UNKNOWN;
    }

    @Override
    boolean isKnowable() {
      return match.isKnowable() || other.isKnowable();
    }

    @Override
    long values(FileFacts files, ColumnFacts[] facts, int position) {
      return in(files, position).values(files, facts, position);
    }

    @Override
    boolean hasBounds(FileFacts files, ColumnFacts[] facts, int position) {
      return in(files, position).hasBounds(files, facts, position);
    }

    @Override
    Object bound(FileFacts files, ColumnFacts[] facts, int position, boolean isLeast) {
      return in(files, position).bound(files, facts, position, isLeast);
    }
  }
}
