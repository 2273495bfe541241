package io.xskip.catalyst;

import java.security.MessageDigest;
import java.time.Instant;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.IdentityHashMap;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Tuple2;
import scala.runtime.AbstractFunction0;

/**
 * The expressions of one request that are Spark's own and deterministic; Python may have those over
 * one column evaluated.
 */
public class ExpressionEvaluator {
  private static final String PACKAGE = "org.apache.spark.sql.catalyst.expressions.";
  private static final String NONE = "",
      MANY = "\u0000",
      FOREIGN = "\u0001"; // of no column; of several; not Spark's own
  private final SQLConf conf = SQLConf.get();
  private final ArrayList terms = new ArrayList();
  private final IdentityHashMap columns =
      new IdentityHashMap(); // expression -> its one column, or one of these

  public ExpressionEvaluator() {}

  /** Goes on from another's numbers. */
  public ExpressionEvaluator(ExpressionEvaluator before) {
    terms.addAll(before.terms);
  }

  /** The number of an expression over one column, -1 of one over several, -2 of all others. */
  int number(Expression e) {
    String c = column(e);
    if (c.equals(NONE) || c.equals(FOREIGN)) return -2;
    if (c.equals(MANY)) return -1;
    terms.add(e);
    return terms.size() - 1;
  }

  private String column(Expression e) {
    String known = (String) columns.get(e);
    if (known == null) columns.put(e, known = find(e));
    return known;
  }

  private String find(Expression e) {
    if (e instanceof Literal) return NONE;
    if (e instanceof AttributeReference) return "c" + ((AttributeReference) e).exprId().id();
    if (isColumn(e))
      return column(((GetStructField) e).child()) + "." + ((GetStructField) e).ordinal();
    if (!isOwn(e)) return FOREIGN;
    String found = NONE;
    for (scala.collection.Iterator it = e.children().iterator(); it.hasNext(); ) {
      String c = column((Expression) it.next());
      if (c.equals(FOREIGN)) return FOREIGN;
      if (!c.equals(NONE)) found = found.equals(NONE) || c.equals(found) ? c : MANY;
    }
    return found;
  }

  /** A field of nested structs, from a column on. */
  private static boolean isColumn(Expression e) {
    while (e instanceof GetStructField) e = ((GetStructField) e).child();
    return e instanceof AttributeReference;
  }

  /**
   * Functions of users and plans inside of expressions have another life; variables of lambdas keep
   * state.
   */
  private static boolean isOwn(Expression e) {
    String n = e.getClass().getName();
    if (!n.startsWith(PACKAGE) || n.indexOf('.', PACKAGE.length()) >= 0) return false;
    n = n.substring(PACKAGE.length());
    return e.deterministic()
        && !(e instanceof Unevaluable)
        && n.indexOf("UDF") < 0
        && n.indexOf("Subquery") < 0
        && n.indexOf("Lambda") < 0
        && n.indexOf("Reflect") < 0
        && n.indexOf("UserDefined") < 0;
  }

  public String settings() throws Exception {
    TreeMap sorted = new TreeMap();
    for (scala.collection.Iterator it = conf.getAllConfs().iterator(); it.hasNext(); ) {
      Tuple2 e = (Tuple2) it.next();
      sorted.put(e._1(), e._2());
    }
    byte[] digest =
        MessageDigest.getInstance("SHA-256").digest(sorted.toString().getBytes("UTF-8"));
    return Base64.getEncoder().encodeToString(digest);
  }

  public static long offsetSpread(String zone, long low, long high) {
    final long day = 86400,
        most = 36 * 3600 * 1000000L,
        far = 253402300800L; // no two offsets are further apart; year 10000
    long from = Math.floorDiv(low, 1000000L) - 2 * day,
        to = Math.floorDiv(high, 1000000L) + 2 * day;
    if (from < -far || to > far) return most;
    ZoneRules rules = DateTimeUtils.getZoneId(zone).getRules();
    Instant at = Instant.ofEpochSecond(from), end = Instant.ofEpochSecond(to);
    long least = rules.getOffset(at).getTotalSeconds(), greatest = least;
    for (int i = 0; true; i++) {
      ZoneOffsetTransition t = rules.nextTransition(at);
      if (t == null || t.getInstant().isAfter(end)) break;
      if (i > 10000) return most;
      long after = t.getOffsetAfter().getTotalSeconds();
      least = Math.min(least, after);
      greatest = Math.max(greatest, after);
      at = t.getInstant();
    }
    return (greatest - least) * 1000000L;
  }

  /**
   * The values of expressions for values of their columns, one after the other. parts: of each the
   * expression's number, how many values, how many bytes of theirs.
   */
  public PackedValues evaluate(long[] parts, byte[] states, long[] numbers, byte[] bytes) {
    PackedValues[] found = new PackedValues[parts.length / 3];
    for (int i = 0, at = 0, from = 0; i < found.length; i++) {
      int n = (int) parts[3 * i + 1], length = (int) parts[3 * i + 2];
      found[i] =
          evaluate(
              (int) parts[3 * i],
              Arrays.copyOfRange(states, at, at + n),
              Arrays.copyOfRange(numbers, at, at + n),
              Arrays.copyOfRange(bytes, from, from + length));
      at += n;
      from += length;
    }
    return PackedValues.joined(found);
  }

  private PackedValues evaluate(int number, byte[] states, long[] numbers, byte[] bytes) {
    final Expression term = (Expression) terms.get(number);
    final ColumnBinding bind = new ColumnBinding();
    final Expression bound = (Expression) term.transformDown(bind);
    final PackedValues in = new PackedValues(bind.type, states, numbers, bytes);
    return (PackedValues)
        SQLConf$.MODULE$.withExistingConf(
            conf,
            new AbstractFunction0() {
              public Object apply() {
                PackedValues out = new PackedValues(bound.dataType(), in.n);
                GenericInternalRow row = new GenericInternalRow(new Object[1]);
                for (int i = 0; i < in.n; i++) {
                  try {
                    row.update(0, in.get(i));
                    out.add(bound.eval(row));
                  } catch (Exception e) {
                    out.fail();
                  } // a query would fail on such a row: it must meet it
                }
                return out;
              }
            });
  }
}
