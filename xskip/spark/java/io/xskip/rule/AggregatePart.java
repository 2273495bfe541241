package io.xskip.rule;

import io.xskip.shims.Scala;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Greatest;
import org.apache.spark.sql.catalyst.expressions.Least;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.LongType$;
import scala.collection.immutable.Seq;
import scala.math.Ordering;

/** An aggregate over the files of which the metadata know enough. */
abstract class AggregatePart {
  private final AggregateExpression aggregate;

  AggregatePart(AggregateExpression aggregate) {
    this.aggregate = aggregate;
  }

  /** Returns the aggregate of the plan. */
  AggregateExpression aggregate() {
    return aggregate;
  }

  /** Returns whether the metadata of a file, all of whose rows count, decide the aggregate. */
  abstract boolean isKnown(FileFacts files, ColumnFacts[] facts, int position);

  /** Adds a file for which {@link #isKnown} is true. */
  abstract void add(FileFacts files, ColumnFacts[] facts, int position);

  /** Returns the aggregate over the added files, in Catalyst's form. */
  abstract Object value();

  /** Returns the aggregate over all other files, combined with that over the added files. */
  abstract Expression combined();

  /** Returns the aggregate over all files of a column with aggregates over some files each. */
  abstract Expression merged(Expression column);

  /** The number of rows. */
  static class Rows extends AggregatePart {
    protected long count = 0;

    Rows(AggregateExpression aggregate) {
      super(aggregate);
    }

    @Override
    boolean isKnown(FileFacts files, ColumnFacts[] facts, int position) {
      return true; // the number of rows of a file that matches wholly is known
    }

    @Override
    void add(FileFacts files, ColumnFacts[] facts, int position) {
      count += files.rows(position);
    }

    @Override
    Object value() {
      return Long.valueOf(count);
    }

    @Override
    Expression combined() {
      return new Add(aggregate(), new Literal(value(), LongType$.MODULE$));
    }

    @Override
    Expression merged(Expression column) {
      Expression sum = new Sum(column).toAggregateExpression();
      Expression zero = new Literal(Long.valueOf(0), LongType$.MODULE$);
      Expression[] both = {sum, zero}; // the sum of counts is no NULL, as its type allows
      return new Coalesce((Seq<Expression>) Scala.seq(Arrays.asList(both)));
    }
  }

  /** The number of values of a column other than NULL. */
  static final class Values extends Rows {
    private final int column;
    private final int partition;

    /** Creates the number of values of a column of the files, or of a partition column. */
    Values(AggregateExpression aggregate, int column, int partition) {
      super(aggregate);
      this.column = column;
      this.partition = partition;
    }

    @Override
    boolean isKnown(FileFacts files, ColumnFacts[] facts, int position) {
      return partition >= 0 || facts[column].nulls(files.ordinal(position)) >= 0;
    }

    @Override
    void add(FileFacts files, ColumnFacts[] facts, int position) {
      long rows = files.rows(position);
      if (partition < 0) {
        count += rows - facts[column].nulls(files.ordinal(position));
      } else if (!files.partition(position).isNullAt(partition)) {
        count += rows;
      }
    }
  }

  /** The least or the greatest value of a column. */
  static final class Bound extends AggregatePart {
    private final int column;
    private final int partition;
    private final DataType type;
    private final boolean isLeast;
    private final Ordering<Object> order;
    private Object bound = null;

    /** Creates a bound of a column of the files, or of a partition column. */
    Bound(AggregateExpression aggregate, int column, int partition, DataType type) {
      super(aggregate);
      this.column = column;
      this.partition = partition;
      this.type = type;
      isLeast = aggregate.aggregateFunction() instanceof Min;
      order = (Ordering<Object>) TypeUtils$.MODULE$.getInterpretedOrdering(type);
    }

    @Override
    boolean isKnown(FileFacts files, ColumnFacts[] facts, int position) {
      int ordinal = files.ordinal(position);
      return partition >= 0 || facts[column].isEmpty(ordinal) || facts[column].isExact(ordinal);
    }

    @Override
    void add(FileFacts files, ColumnFacts[] facts, int position) {
      Object value;
      if (partition >= 0) {
        value = files.rows(position) == 0 ? null : files.partition(position).get(partition, type);
      } else {
        int ordinal = files.ordinal(position);
        value = isLeast ? facts[column].low(ordinal) : facts[column].high(ordinal);
      }
      if (value == null) {
        return;
      }
      int comparison = bound == null ? 0 : order.compare(value, bound);
      if (bound == null || (isLeast ? comparison < 0 : comparison > 0)) {
        bound = value;
      }
    }

    @Override
    Object value() {
      return bound;
    }

    @Override
    Expression merged(Expression column) {
      return isLeast
          ? new Min(column).toAggregateExpression()
          : new Max(column).toAggregateExpression();
    }

    @Override
    Expression combined() {
      if (bound == null) {
        return aggregate();
      }
      Expression[] both = {aggregate(), new Literal(bound, type)};
      Seq<Expression> arguments = (Seq<Expression>) Scala.seq(Arrays.asList(both));
      return isLeast ? new Least(arguments) : new Greatest(arguments);
    }
  }
}
