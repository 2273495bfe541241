package io.xskip.catalyst;

import io.xskip.common.Json;
import io.xskip.common.SparkCompat;
import java.util.ArrayList;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.None$;
import scala.Product;
import scala.Some;
import scala.collection.immutable.Seq;

/**
 * Catalyst expressions -> compact JSON. Every node is an array, first element = simple class name:
 * ["$", path, type] column reference, path = ["a","b"] through GetStructField ["$meta", path, type]
 * reference to a part of the hidden _metadata column, never a data column ["#", type, value]
 * literal; value null = SQL NULL ["In", child, type, [v...]] In of literals and InSet alike, raw
 * values of one type ["UDF", identity, name, type, [args...]] a call of a user's function: of one
 * in Python a digest of its code, of one in Java or Scala its registered name [Class, args...]
 * anything else: constructor arguments in order; expressions are arrays, data types {"t":..},
 * unknown objects {"?":class} the last of the latter two is {"@":number,"t":type} for Spark's own:
 * see ExpressionEvaluator Literal values: boolean; byte..long, date (days), timestamp(_ntz)
 * (micros), time (nanos), intervals (months/micros) as JSON numbers; float/double/decimal as
 * strings; string as string; binary and ill-formed UTF-8 as {"b64":..}
 */
public class ExpressionEncoder {

  public static void list(StringBuilder sb, Seq s, ExpressionEvaluator terms) {
    sb.append('[');
    scala.collection.Iterator it = s.iterator();
    boolean first = true;
    while (it.hasNext()) {
      if (!first) sb.append(',');
      first = false;
      expr(sb, (Expression) it.next(), terms);
    }
    sb.append(']');
  }

  public static String encode(Expression e, ExpressionEvaluator terms) {
    StringBuilder sb = new StringBuilder();
    expr(sb, e, terms);
    return sb.toString();
  }

  private static void term(StringBuilder sb, Expression e, ExpressionEvaluator terms) {
    int k = terms.number(e);
    if (k < -1) return;
    sb.append(",{\"@\":").append(k).append(",\"t\":");
    Json.string(sb, e.dataType().catalogString());
    sb.append('}');
  }

  private static void expr(StringBuilder sb, Expression e, ExpressionEvaluator terms) {
    if (e instanceof Literal) {
      Literal l = (Literal) e;
      sb.append("[\"#\",");
      Json.string(sb, l.dataType().catalogString());
      sb.append(',');
      value(sb, l.value(), l.dataType());
      sb.append(']');
      return;
    }
    if (e instanceof AttributeReference || e instanceof GetStructField) {
      ArrayList path = new ArrayList();
      Expression x = e;
      while (x instanceof GetStructField) {
        GetStructField g = (GetStructField) x;
        path.add(0, ((StructType) g.child().dataType()).fields()[g.ordinal()].name());
        x = g.child();
      }
      if (x instanceof AttributeReference) {
        path.add(0, ((AttributeReference) x).name());
        // hidden columns: FileSourceStrategy rewrites _metadata.file_size to an attribute
        // "file_size", a name that a
        // data column may have as well; only the attribute's metadata tells them apart
        Metadata m = ((AttributeReference) x).metadata();
        boolean hidden = m.contains("__metadata_col") || m.contains("__file_source_metadata_col");
        sb.append(hidden ? "[\"$meta\",[" : "[\"$\",[");
        for (int i = 0; i < path.size(); i++) {
          if (i > 0) sb.append(',');
          Json.string(sb, (String) path.get(i));
        }
        sb.append("],");
        Json.string(sb, e.dataType().catalogString());
        sb.append(']');
        return;
      }
    }
    if (e instanceof InSet) {
      InSet s = (InSet) e;
      sb.append("[\"In\",");
      expr(sb, s.child(), terms);
      sb.append(',');
      Json.string(sb, s.child().dataType().catalogString());
      sb.append(",[");
      values(
          sb,
          ((scala.collection.Iterable) (Object) s.hset()).iterator(),
          s.child().dataType(),
          false);
      sb.append(']');
      term(sb, e, terms);
      sb.append(']');
      return;
    }
    if (e instanceof In) {
      In s = (In) e;
      boolean lits = true;
      scala.collection.Iterator it = s.list().iterator();
      while (lits && it.hasNext()) {
        Object o = it.next();
        lits = o instanceof Literal && ((Literal) o).dataType().equals(s.value().dataType());
      }
      if (lits) {
        sb.append("[\"In\",");
        expr(sb, s.value(), terms);
        sb.append(',');
        Json.string(sb, s.value().dataType().catalogString());
        sb.append(",[");
        values(sb, s.list().iterator(), s.value().dataType(), true);
        sb.append(']');
        term(sb, e, terms);
        sb.append(']');
        return;
      }
    }
    String identity = UdfIdentity.identity(e);
    if (identity != null) {
      sb.append("[\"UDF\",");
      Json.string(sb, identity);
      sb.append(',');
      Json.string(sb, UdfIdentity.name(e));
      sb.append(',');
      Json.string(sb, e.dataType().catalogString());
      sb.append(',');
      list(sb, e.children(), terms);
      sb.append(']');
      return;
    }
    sb.append('[');
    String cn = e.getClass().getName();
    Json.string(sb, cn.substring(cn.lastIndexOf('.') + 1));
    Product p = (Product) e;
    for (int i = 0, m = p.productArity(); i < m; i++) {
      sb.append(',');
      any(sb, p.productElement(i), 0, terms);
    }
    term(sb, e, terms);
    sb.append(']');
  }

  private static void values(
      StringBuilder sb, scala.collection.Iterator it, DataType t, boolean lits) {
    boolean first = true;
    while (it.hasNext()) {
      Object o = it.next();
      if (!first) sb.append(',');
      first = false;
      value(sb, lits ? ((Literal) o).value() : o, t);
    }
  }

  private static void any(StringBuilder sb, Object o, int depth, ExpressionEvaluator terms) {
    if (o instanceof Expression) expr(sb, (Expression) o, terms);
    else if (o == null || o == None$.MODULE$) sb.append("null");
    else if (o instanceof Some) any(sb, ((Some) o).get(), depth, terms);
    else if (o instanceof String || o instanceof Character) Json.string(sb, o.toString());
    else if (o instanceof Boolean
        || o instanceof Integer
        || o instanceof Long
        || o instanceof Short
        || o instanceof Byte) sb.append(o);
    else if (o instanceof DataType) {
      sb.append("{\"t\":");
      Json.string(sb, ((DataType) o).catalogString());
      sb.append('}');
    } else if (o instanceof Enum) Json.string(sb, o.toString());
    else if (o.getClass().getName().indexOf("Enumeration$Val") >= 0) Json.string(sb, o.toString());
    else if (o instanceof scala.collection.Iterable
        && depth < 3
        && !(o instanceof scala.collection.Map)) {
      sb.append('[');
      scala.collection.Iterator it = ((scala.collection.Iterable) o).iterator();
      boolean first = true;
      while (it.hasNext()) {
        if (!first) sb.append(',');
        first = false;
        any(sb, it.next(), depth + 1, terms);
      }
      sb.append(']');
    } else if (o instanceof Class) Json.string(sb, ((Class) o).getName());
    else if (o instanceof Product
        && !(o instanceof TreeNode)
        && depth < 3) { // Tuple2 of CaseWhen, NumericEvalContext, ...
      Product p = (Product) o;
      sb.append('[');
      Json.string(sb, p.productPrefix());
      for (int i = 0, m = p.productArity(); i < m; i++) {
        sb.append(',');
        any(sb, p.productElement(i), depth + 1, terms);
      }
      sb.append(']');
    } else {
      sb.append("{\"?\":");
      Json.string(sb, o.getClass().getName());
      sb.append('}');
    }
  }

  public static void value(StringBuilder sb, Object v, DataType t) {
    if (v == null) sb.append("null");
    else if (v instanceof Float || v instanceof Double)
      Json.string(sb, Double.toString(((Number) v).doubleValue()));
    else if (v instanceof Number || v instanceof Boolean)
      sb.append(v); // incl. date, timestamps, time, intervals
    else if (v instanceof Decimal)
      Json.string(sb, ((Decimal) v).toJavaBigDecimal().toPlainString());
    else if (v instanceof UTF8String) {
      String s = v.toString();
      if (UTF8String.fromString(s).equals(v)) Json.string(sb, s);
      else b64(sb, ((UTF8String) v).getBytes());
    } else if (v instanceof byte[]) b64(sb, (byte[]) v);
    else {
      sb.append("{\"?\":");
      Json.string(sb, v.getClass().getName());
      sb.append(",\"s\":");
      Json.string(sb, v.toString());
      sb.append('}');
    }
  }

  private static void b64(StringBuilder sb, byte[] b) {
    sb.append("{\"b64\":\"").append(Base64.getEncoder().encodeToString(b)).append("\"}");
  }

  public static String row(InternalRow row, StructType schema) {
    StringBuilder sb = new StringBuilder("[");
    for (int i = 0; i < schema.length(); i++) {
      if (i > 0) sb.append(',');
      DataType t = schema.apply(i).dataType();
      value(sb, row.isNullAt(i) ? null : row.get(i, t), t);
    }
    return sb.append(']').toString();
  }

  /**
   * The one expression that a DataFrame selects, encoded as filters are; null where Spark has made
   * it another plan.
   */
  public static String selected(Object df) throws Exception {
    LogicalPlan p = SparkCompat.execution(df).optimizedPlan();
    if (!(p instanceof Project) || p.expressions().length() != 1) return null;
    Expression e = (Expression) p.expressions().head();
    if (e instanceof Alias) e = ((Alias) e).child();
    return encode(e, new ExpressionEvaluator());
  }
}
