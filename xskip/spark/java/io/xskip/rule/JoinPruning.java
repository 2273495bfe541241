package io.xskip.rule;

import io.xskip.observe.SubqueryValues;
import io.xskip.scan.NumberedListing;
import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import scala.collection.immutable.Seq;
import scala.math.Ordering;

/** The files of a relation that can have rows with one of the keys of the other side of a join. */
final class JoinPruning extends FilePruning {
  private static final long serialVersionUID = 1L;

  /** The number of keys above which only the least and the greatest key count. */
  private static final int MAX_KEYS = 10_000;

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
    return keys == null ? null : listing.matching(conditions(keys), rewrite());
  }

  /** Returns conditions that each row with one of the keys satisfies; null if no row has one. */
  private List<Expression> conditions(Object[] keys) {
    List<Object> values = new ArrayList<>();
    for (Object value : keys) {
      if (value != null) { // NULL is equal to no value
        values.add(value);
      }
    }
    List<Expression> conditions = new ArrayList<>();
    if (values.isEmpty()) {
      return null;
    }
    if (values.size() <= MAX_KEYS) {
      List<Expression> literals = new ArrayList<>();
      for (Object value : values) {
        literals.add(literal(value));
      }
      Seq<Expression> list = (Seq<Expression>) Scala.seq(literals);
      conditions.add(new In(key, list));
      return conditions;
    }
    Object[] ends = ends(values);
    conditions.add(new GreaterThanOrEqual(key, literal(ends[0])));
    conditions.add(new LessThanOrEqual(key, literal(ends[1])));
    return conditions;
  }

  private Expression literal(Object value) {
    return new Literal(value, key.dataType());
  }

  private Object[] ends(List<Object> values) {
    Ordering<Object> order =
        (Ordering<Object>) TypeUtils$.MODULE$.getInterpretedOrdering(key.dataType());
    Object[] ends = {values.get(0), values.get(0)};
    for (Object value : values) {
      ends[0] = order.compare(value, ends[0]) < 0 ? value : ends[0];
      ends[1] = order.compare(value, ends[1]) > 0 ? value : ends[1];
    }
    return ends;
  }
}
