package io.xskip.rewrite;

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
  private final AggregateOperand operand;

  AggregatePart(AggregateExpression aggregate, AggregateOperand operand) {
    this.aggregate = aggregate;
    this.operand = operand;
  }

  /** Returns the aggregate of the plan. */
  AggregateExpression aggregate() {
    return aggregate;
  }

  AggregateOperand operand() {
    return operand;
  }

  /** Returns what the aggregate does with a column, see [JVM-RQ-6]. */
  abstract String need();

  /** Returns the same aggregate over no file. */
  abstract AggregatePart empty();

  /** Returns whether the metadata of a file, all of whose rows count, decide the aggregate. */
  final boolean isKnown(FileFacts files, ColumnFacts[] facts, int position) {
    return isKnown(operand.in(files, position), files, facts, position);
  }

  /** Adds a file for which {@link #isKnown} is true. */
  final void add(FileFacts files, ColumnFacts[] facts, int position) {
    add(operand.in(files, position), files, facts, position);
  }

  /** Returns whether the metadata of a file decide the aggregate of an operand. */
  protected abstract boolean isKnown(
      AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position);

  /** Adds the operand in a file. */
  protected abstract void add(
      AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position);

  /** Returns the aggregate over the added files, in Catalyst's form. */
  abstract Object value();

  /** Returns the aggregate over all other files, combined with that over the added files. */
  abstract Expression combined();

  /** Returns the aggregate over all files of a column with aggregates over some files each. */
  abstract Expression merged(Expression column);

  private static Expression orZero(Expression sum) {
    Expression[] both = {sum, number(0)};
    return new Coalesce((Seq<Expression>) Scala.seq(Arrays.asList(both)));
  }

  private static Literal number(long value) {
    return new Literal(Long.valueOf(value), LongType$.MODULE$);
  }

  /** The number of values other than NULL. */
  static final class Count extends AggregatePart {
    private long count = 0;

    Count(AggregateExpression aggregate, AggregateOperand operand) {
      super(aggregate, operand);
    }

    @Override
    String need() {
      return "count";
    }

    @Override
    AggregatePart empty() {
      return new Count(aggregate(), operand());
    }

    @Override
    protected boolean isKnown(
        AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position) {
      return operand.values(files, facts, position) >= 0;
    }

    @Override
    protected void add(
        AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position) {
      count += operand.values(files, facts, position);
    }

    @Override
    Object value() {
      return Long.valueOf(count);
    }

    @Override
    Expression combined() {
      return new Add(aggregate(), number(count));
    }

    @Override
    Expression merged(Expression column) {
      // the sum of counts is no NULL, as its type allows
      return orZero(new Sum(column).toAggregateExpression());
    }
  }

  /** The sum of constants, such as {@code sum(CASE WHEN p THEN 1 ELSE 0 END)}. */
  static final class Total extends AggregatePart {
    /** A greater sum is left to Spark, which can raise an error. */
    private static final double LIMIT = 9e18;

    private long total = 0;
    private boolean hasValue = false;

    Total(AggregateExpression aggregate, AggregateOperand operand) {
      super(aggregate, operand);
    }

    @Override
    String need() {
      return "rows";
    }

    @Override
    AggregatePart empty() {
      return new Total(aggregate(), operand());
    }

    @Override
    protected boolean isKnown(
        AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position) {
      if (!(operand instanceof AggregateOperand.Constant)) {
        return false;
      }
      double sum = (double) total + (double) number(operand) * files.rows(position);
      return Math.abs(sum) < LIMIT;
    }

    private static long number(AggregateOperand operand) {
      Object value = ((AggregateOperand.Constant) operand).value();
      return value == null ? 0 : ((Number) value).longValue();
    }

    @Override
    protected void add(
        AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position) {
      total += number(operand) * files.rows(position);
      hasValue = hasValue || operand.values(files, facts, position) > 0;
    }

    @Override
    Object value() {
      return hasValue ? Long.valueOf(total) : null;
    }

    @Override
    Expression combined() {
      return hasValue
          ? new Add(orZero(aggregate()), AggregatePart.number(total))
          : (Expression) aggregate();
    }

    @Override
    Expression merged(Expression column) {
      return new Sum(column).toAggregateExpression();
    }
  }

  /** The least or the greatest value. */
  static final class Bound extends AggregatePart {
    private final DataType type;
    private final boolean isLeast;
    private final Ordering<Object> order;
    private Object bound = null;

    /**
     * Creates a bound.
     *
     * @param type the type of the operand, which has an order
     */
    Bound(AggregateExpression aggregate, AggregateOperand operand, DataType type) {
      super(aggregate, operand);
      this.type = type;
      isLeast = aggregate.aggregateFunction() instanceof Min;
      order = (Ordering<Object>) TypeUtils$.MODULE$.getInterpretedOrdering(type);
    }

    @Override
    String need() {
      return "bounds";
    }

    @Override
    AggregatePart empty() {
      return new Bound(aggregate(), operand(), type);
    }

    @Override
    protected boolean isKnown(
        AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position) {
      return operand.hasBounds(files, facts, position);
    }

    @Override
    protected void add(
        AggregateOperand operand, FileFacts files, ColumnFacts[] facts, int position) {
      Object value = operand.bound(files, facts, position, isLeast);
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
    Expression combined() {
      if (bound == null) {
        return aggregate();
      }
      Expression[] both = {aggregate(), new Literal(bound, type)};
      Seq<Expression> arguments = (Seq<Expression>) Scala.seq(Arrays.asList(both));
      return isLeast ? new Least(arguments) : new Greatest(arguments);
    }

    @Override
    Expression merged(Expression column) {
      return isLeast
          ? new Min(column).toAggregateExpression()
          : new Max(column).toAggregateExpression();
    }
  }
}
