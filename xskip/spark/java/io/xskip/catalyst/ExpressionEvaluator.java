package io.xskip.catalyst;

import io.xskip.common.Bytes;
import io.xskip.common.SkippingSettings;
import io.xskip.shims.Scala;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.PartialFunction;
import scala.runtime.AbstractFunction0;

/**
 * The expressions of a request that Python can have evaluated: deterministic ones of Spark over a
 * single column [JVM-EV].
 */
public final class ExpressionEvaluator {
  // the number of an expression of Spark over several columns: it has only a type
  static final int SEVERAL_COLUMNS = -1;

  // the number of an expression without columns, or of an expression that is not Spark's
  static final int NOT_EVALUABLE = -2;

  private static final String PACKAGE = "org.apache.spark.sql.catalyst.expressions.";

  // from_avro belongs to Spark's package of Avro
  private static final String FROM_AVRO = "org.apache.spark.sql.avro.AvroDataToCatalyst";

  // The values of columnOf other than the names of columns
  private static final String NONE = "";
  private static final String SEVERAL = "\u0000";
  private static final String FOREIGN = "\u0001";

  private static final long MICROS_PER_SECOND = 1000000L;
  private static final long SECONDS_PER_DAY = 86400L;

  // a bound that no difference of two offsets of a zone exceeds
  private static final long MAX_OFFSET_SPREAD = 36 * 3600 * MICROS_PER_SECOND;

  private static final long MAX_INSTANT = 253402300800L; // the first second of the year 10000

  private static final int MAX_TRANSITIONS = 10000;

  private final SQLConf conf;
  private final List<Expression> numbered = new ArrayList<>();

  // the name of the column of each visited expression, or NONE and so on
  private final Map<Expression, String> columns = new IdentityHashMap<>();

  /** Creates an evaluator with the settings of the session that runs the expressions. */
  public ExpressionEvaluator(SQLConf conf) {
    this.conf = conf;
  }

  /** Returns a new evaluator whose first expressions are those of this one, with their numbers. */
  public ExpressionEvaluator continued() {
    ExpressionEvaluator next = new ExpressionEvaluator(conf);
    next.numbered.addAll(numbered);
    return next;
  }

  /** Numbers an expression, or returns {@link #SEVERAL_COLUMNS} or {@link #NOT_EVALUABLE}. */
  int number(Expression expression) {
    String column = columnOf(expression);
    if (column.equals(NONE) || column.equals(FOREIGN)) {
      return NOT_EVALUABLE;
    }
    if (column.equals(SEVERAL)) {
      return SEVERAL_COLUMNS;
    }
    numbered.add(expression);
    return numbered.size() - 1;
  }

  private String columnOf(Expression expression) {
    String column = (String) columns.get(expression);
    if (column == null) {
      column = findColumn(expression);
      columns.put(expression, column);
    }
    return column;
  }

  private String findColumn(Expression expression) {
    if (expression instanceof Literal) {
      return NONE;
    }
    if (expression instanceof AttributeReference) {
      return "c" + ((AttributeReference) expression).exprId().id();
    }
    if (ColumnBinding.isColumn(expression)) {
      GetStructField field = (GetStructField) expression;
      return columnOf(field.child()) + "." + field.ordinal();
    }
    if (!isOfSpark(expression)) {
      return FOREIGN;
    }
    String column = NONE;
    for (Expression child : Scala.list(expression.children())) {
      String childColumn = columnOf(child);
      if (childColumn.equals(FOREIGN)) {
        return FOREIGN;
      }
      if (column.equals(NONE)) {
        column = childColumn;
      } else if (!childColumn.equals(NONE) && !childColumn.equals(column)) {
        column = SEVERAL;
      }
    }
    return column;
  }

  private static boolean isOfSpark(Expression expression) {
    String className = expression.getClass().getName();
    if (className.equals(FROM_AVRO) || isPadding(expression)) {
      return true;
    }
    if (!className.startsWith(PACKAGE) || className.indexOf('.', PACKAGE.length()) >= 0) {
      return false;
    }
    String name = className.substring(PACKAGE.length());
    // Users' functions and subqueries need a query to run, and the variables of lambda functions
    // have state.
    return expression.deterministic()
        && !(expression instanceof Unevaluable)
        && !name.contains("UDF")
        && !name.contains("Subquery")
        && !name.contains("Lambda")
        && !name.contains("Reflect")
        && !name.contains("UserDefined");
  }

  private static boolean isPadding(Expression expression) { // of a CHAR column that Spark reads
    return expression instanceof StaticInvoke
        && ((StaticInvoke) expression).staticObject().equals(CharVarcharCodegenUtils.class)
        && ((StaticInvoke) expression).functionName().equals("readSidePadding");
  }

  /** Returns a digest of all settings of the session, and of the JVM's language if it counts. */
  public String settings() {
    TreeMap<Object, Object> sorted = new TreeMap<>();
    sorted.put("user.language", SkippingSettings.language());
    sorted.putAll(Scala.map(conf.getAllConfs()));
    return Bytes.text(Bytes.sha256(sorted.toString().getBytes(StandardCharsets.UTF_8)));
  }

  /**
   * Returns the spread of a zone's offsets from two days before {@code low} to two days after
   * {@code high}, or more; all in microseconds.
   */
  public static long offsetSpread(String zone, long low, long high) {
    long start = Math.floorDiv(low, MICROS_PER_SECOND) - 2 * SECONDS_PER_DAY;
    long end = Math.floorDiv(high, MICROS_PER_SECOND) + 2 * SECONDS_PER_DAY;
    if (start < -MAX_INSTANT || end > MAX_INSTANT) {
      return MAX_OFFSET_SPREAD;
    }
    ZoneRules rules = DateTimeUtils.getZoneId(zone).getRules();
    Instant at = Instant.ofEpochSecond(start);
    Instant last = Instant.ofEpochSecond(end);
    long least = rules.getOffset(at).getTotalSeconds();
    long greatest = least;
    ZoneOffsetTransition transition = rules.nextTransition(at);
    for (int i = 0; transition != null && !transition.getInstant().isAfter(last); i++) {
      if (i > MAX_TRANSITIONS) {
        return MAX_OFFSET_SPREAD;
      }
      long offset = transition.getOffsetAfter().getTotalSeconds();
      least = Math.min(least, offset);
      greatest = Math.max(greatest, offset);
      transition = rules.nextTransition(transition.getInstant());
    }
    return (greatest - least) * MICROS_PER_SECOND;
  }

  /**
   * Evaluates expressions: {@code parts} has for each its number, and the counts of its values and
   * of their bytes.
   */
  public PackedValues evaluate(long[] parts, byte[] states, long[] numbers, byte[] bytes) {
    PackedValues[] results = new PackedValues[parts.length / 3];
    int start = 0;
    int firstByte = 0;
    for (int i = 0; i < results.length; i++) {
      Expression expression = (Expression) numbered.get((int) parts[3 * i]);
      int end = start + (int) parts[3 * i + 1];
      int endByte = firstByte + (int) parts[3 * i + 2];
      results[i] =
          evaluate(
              expression,
              Arrays.copyOfRange(states, start, end),
              Arrays.copyOfRange(numbers, start, end),
              Arrays.copyOfRange(bytes, firstByte, endByte));
      start = end;
      firstByte = endByte;
    }
    return PackedValues.concatenated(results);
  }

  private PackedValues evaluate(
      Expression expression, byte[] states, long[] numbers, byte[] bytes) {
    ColumnBinding binding = new ColumnBinding();
    // Janino requires the erased signature of ColumnBinding's methods, so the class implements
    // PartialFunction<Object, Object>
    @SuppressWarnings({"rawtypes", "unchecked"})
    PartialFunction<Expression, Expression> rule = (PartialFunction) binding;
    final Expression bound = (Expression) expression.transformDown(rule);
    final PackedValues input = new PackedValues(binding.type(), states, numbers, bytes);
    return (PackedValues)
        SQLConf$.MODULE$.withExistingConf(
            conf,
            new AbstractFunction0<Object>() {
              @Override
              public Object apply() {
                return evaluate(bound, DayDependence.of(bound), input);
              }
            });
  }

  private static PackedValues evaluate(
      Expression bound, DayDependence dependence, PackedValues input) {
    PackedValues output = new PackedValues(input.count());
    GenericInternalRow row = new GenericInternalRow(new Object[1]);
    for (int i = 0; i < input.count(); i++) {
      try {
        row.update(0, input.get(i));
        if (dependence.isPossible(row)) {
          output.addFailure(); // the value can be another one when the query reads the row
        } else {
          output.add(bound.eval(row));
        }
      } catch (Exception e) { // a query fails on such a row, so it must read the row
        output.addFailure();
      }
    }
    return output;
  }
}
