package io.xskip.rewrite;

import io.xskip.shims.Scala;
import java.util.ArrayList;
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

/**
 * Conditions on a column whose values are among the keys of the other side of a join [PLN-JN-3].
 */
final class KeyConditions {
  /** The number of keys above which only the least and the greatest key count. */
  private static final int MAX_KEYS = 10_000;

  private final Attribute key;

  KeyConditions(Attribute key) {
    this.key = key;
  }

  /** Returns conditions that each row with one of the keys satisfies; null if no row has one. */
  List<Expression> matching(Object[] keys) {
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
