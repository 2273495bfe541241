package io.xskip.rewrite;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;

/** A comparison of two columns, for which NULL is never TRUE. */
final class JoinComparison {
  final Attribute one;
  final Attribute other;

  /** Whether the first column is not less than the other one in rows that satisfy it. */
  final boolean isAtLeast;

  /** Whether the first column is not greater than the other one in rows that satisfy it. */
  final boolean isAtMost;

  private JoinComparison(Attribute one, Attribute other, boolean isAtLeast, boolean isAtMost) {
    this.one = one;
    this.other = other;
    this.isAtLeast = isAtLeast;
    this.isAtMost = isAtMost;
  }

  /** Returns the comparison that a condition is, or null if it is none. */
  static JoinComparison of(Expression condition) {
    if (!(condition instanceof BinaryComparison)) {
      return null;
    }
    BinaryComparison comparison = (BinaryComparison) condition;
    boolean isEqual = condition instanceof EqualTo;
    boolean isAtLeast =
        isEqual || condition instanceof GreaterThan || condition instanceof GreaterThanOrEqual;
    boolean isAtMost =
        isEqual || condition instanceof LessThan || condition instanceof LessThanOrEqual;
    boolean areColumns =
        comparison.left() instanceof Attribute && comparison.right() instanceof Attribute;
    return areColumns && (isAtLeast || isAtMost)
        ? new JoinComparison(
            (Attribute) comparison.left(), (Attribute) comparison.right(), isAtLeast, isAtMost)
        : null;
  }

  /** Returns the same comparison of other columns. */
  JoinComparison on(Attribute one, Attribute other) {
    return new JoinComparison(one, other, isAtLeast, isAtMost);
  }

  /** Returns the same comparison with the columns in the other order. */
  JoinComparison flipped() {
    return new JoinComparison(other, one, isAtMost, isAtLeast);
  }
}
