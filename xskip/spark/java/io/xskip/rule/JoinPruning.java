package io.xskip.rule;

import io.xskip.common.Failures;
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
final class JoinPruning {
  /** The number of keys above which only the least and the greatest key count. */
  private static final int MAX_KEYS = 1000;

  private final NumberedListing listing;
  private final Attribute key;

  /** The latest keys, compared by identity, and the numbers of the files that can have them. */
  private Object[] keys = null;

  private BitSet kept = null;

  /** The number from which on files are not in {@link #kept}. */
  private int end = 0;

  /**
   * Creates the pruning of a relation.
   *
   * @param key the column of the relation that the join compares
   */
  JoinPruning(NumberedListing listing, Attribute key) {
    this.listing = listing;
    this.key = key;
  }

  boolean isOfColumn(Attribute column) {
    return key.exprId().equals(column.exprId());
  }

  boolean isOfKey(JoinPruning other) {
    return key.name().equals(other.key.name()) && key.dataType().equals(other.key.dataType());
  }

  /** Returns whether a file can have a row with one of the keys; after an error, it can. */
  synchronized boolean keeps(int number, Object[] keys) {
    if (this.keys != keys || end != listing.next()) {
      this.keys = keys;
      end = listing.next();
      try {
        kept = listing.matching(conditions(keys));
      } catch (Throwable t) {
        Failures.logFailure("the pruning of a join", t);
        kept = null;
      }
    }
    return kept == null || number >= end || kept.get(number);
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
