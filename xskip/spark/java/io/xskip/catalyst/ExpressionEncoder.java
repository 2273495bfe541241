package io.xskip.jvm;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Catalyst expressions -> compact JSON. Every node is an array, first element = simple class name:
      ["$", path, type]            column reference, path = ["a","b"] through GetStructField
      ["$meta", path, type]        reference to a part of the hidden _metadata column, never a data column
      ["#", type, value]           literal; value null = SQL NULL
      ["In", child, type, [v...]]  In of literals and InSet alike, raw values of one type
      ["UDF", identity, name, type, [args...]]   a call of a user's function: of one in Python a digest of its code, of
                                   one in Java or Scala its registered name
      [Class, args...]             anything else: constructor arguments in order; expressions are arrays,
                                   data types {"t":..}, unknown objects {"?":class}
      the last of the latter two is {"@":number,"t":type} for Spark's own: see XSkipTerms
    Literal values: boolean; byte..long, date (days), timestamp(_ntz) (micros), time (nanos), intervals (months/micros)
    as JSON numbers; float/double/decimal as strings; string as string; binary and ill-formed UTF-8 as {"b64":..} */
class XSkipEncoder {
  static String request(long id, XSkipPlace place, XSkipContext c, @SEQ@ df, XSkipTerms terms) throws Exception {
    StringBuilder sb = new StringBuilder(512);
    sb.append("{\"id\":").append(id).append(",\"strict\":").append(c.settings.strict).append(",\"jobObjects\":");
    str(sb, c.settings.jobObjects);
    sb.append(",\"place\":");
    place.json(sb);
    sb.append(',').append(c.reading()).append(",\"df\":"); list(sb, df, terms);
    if (c.mixed.length() > 0) {
      sb.setLength(sb.length() - 1);
      sb.append(df.isEmpty() ? "" : ",").append(c.mixed).append(']');
    }
    return sb.append('}').toString();
  }
  /** A Scala or Java map of strings. */
  static void map(StringBuilder sb, Object m) {
    sb.append('{');
    boolean first = true;
    if (m instanceof Map) {
      for (Iterator it = ((Map) m).entrySet().iterator(); it.hasNext(); first = false) {
        Map.Entry e = (Map.Entry) it.next();
        pair(sb, first, e.getKey(), e.getValue());
      }
    } else if (m != null) {
      for (scala.collection.Iterator it = ((scala.collection.Iterable) m).iterator(); it.hasNext(); first = false) {
        scala.Tuple2 e = (scala.Tuple2) it.next();
        pair(sb, first, e._1(), e._2());
      }
    }
    sb.append('}');
  }
  private static void pair(StringBuilder sb, boolean first, Object k, Object v) {
    if (!first) sb.append(',');
    str(sb, String.valueOf(k)); sb.append(':'); str(sb, String.valueOf(v));
  }
  private static void list(StringBuilder sb, @SEQ@ s, XSkipTerms terms) {
    sb.append('[');
    scala.collection.Iterator it = s.iterator();
    boolean first = true;
    while (it.hasNext()) { if (!first) sb.append(','); first = false; expr(sb, (Expression) it.next(), terms); }
    sb.append(']');
  }
  static String encode(Expression e, XSkipTerms terms) {
    StringBuilder sb = new StringBuilder();
    expr(sb, e, terms);
    return sb.toString();
  }
  private static void term(StringBuilder sb, Expression e, XSkipTerms terms) {
    int k = terms.number(e);
    if (k < -1) return;
    sb.append(",{\"@\":").append(k).append(",\"t\":"); str(sb, e.dataType().catalogString()); sb.append('}');
  }

  private static void expr(StringBuilder sb, Expression e, XSkipTerms terms) {
    if (e instanceof Literal) {
      Literal l = (Literal) e;
      sb.append("[\"#\","); str(sb, l.dataType().catalogString()); sb.append(','); value(sb, l.value(), l.dataType()); sb.append(']');
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
        // hidden columns: FileSourceStrategy rewrites _metadata.file_size to an attribute "file_size", a name that a
        // data column may have as well; only the attribute's metadata tells them apart
        org.apache.spark.sql.types.Metadata m = ((AttributeReference) x).metadata();
        boolean hidden = m.contains("__metadata_col") || m.contains("__file_source_metadata_col");
        sb.append(hidden ? "[\"$meta\",[" : "[\"$\",[");
        for (int i = 0; i < path.size(); i++) { if (i > 0) sb.append(','); str(sb, (String) path.get(i)); }
        sb.append("],"); str(sb, e.dataType().catalogString()); sb.append(']');
        return;
      }
    }
    if (e instanceof InSet) {
      InSet s = (InSet) e;
      sb.append("[\"In\","); expr(sb, s.child(), terms); sb.append(','); str(sb, s.child().dataType().catalogString()); sb.append(",[");
      values(sb, ((scala.collection.Iterable) (Object) s.hset()).iterator(), s.child().dataType(), false);
      sb.append(']'); term(sb, e, terms); sb.append(']');
      return;
    }
    if (e instanceof In) {
      In s = (In) e;
      boolean lits = true;
      scala.collection.Iterator it = s.list().iterator();
      while (lits && it.hasNext()) { Object o = it.next(); lits = o instanceof Literal && ((Literal) o).dataType().equals(s.value().dataType()); }
      if (lits) {
        sb.append("[\"In\","); expr(sb, s.value(), terms); sb.append(','); str(sb, s.value().dataType().catalogString()); sb.append(",[");
        values(sb, s.list().iterator(), s.value().dataType(), true);
        sb.append(']'); term(sb, e, terms); sb.append(']');
        return;
      }
    }
    String identity = XSkipFunctions.identity(e);
    if (identity != null) {
      sb.append("[\"UDF\","); str(sb, identity); sb.append(','); str(sb, XSkipFunctions.name(e)); sb.append(',');
      str(sb, e.dataType().catalogString()); sb.append(','); list(sb, e.children(), terms); sb.append(']');
      return;
    }
    sb.append('[');
    String cn = e.getClass().getName();
    str(sb, cn.substring(cn.lastIndexOf('.') + 1));
    scala.Product p = (scala.Product) e;
    for (int i = 0, m = p.productArity(); i < m; i++) { sb.append(','); any(sb, p.productElement(i), 0, terms); }
    term(sb, e, terms);
    sb.append(']');
  }
  private static void values(StringBuilder sb, scala.collection.Iterator it, DataType t, boolean lits) {
    boolean first = true;
    while (it.hasNext()) {
      Object o = it.next();
      if (!first) sb.append(','); first = false;
      value(sb, lits ? ((Literal) o).value() : o, t);
    }
  }
  private static void any(StringBuilder sb, Object o, int depth, XSkipTerms terms) {
    if (o instanceof Expression) expr(sb, (Expression) o, terms);
    else if (o == null || o == scala.None$.MODULE$) sb.append("null");
    else if (o instanceof scala.Some) any(sb, ((scala.Some) o).get(), depth, terms);
    else if (o instanceof String || o instanceof Character) str(sb, o.toString());
    else if (o instanceof Boolean || o instanceof Integer || o instanceof Long || o instanceof Short || o instanceof Byte) sb.append(o);
    else if (o instanceof DataType) { sb.append("{\"t\":"); str(sb, ((DataType) o).catalogString()); sb.append('}'); }
    else if (o instanceof Enum) str(sb, o.toString());
    else if (o.getClass().getName().indexOf("Enumeration$Val") >= 0) str(sb, o.toString());
    else if (o instanceof scala.collection.Iterable && depth < 3 && !(o instanceof scala.collection.Map)) {
      sb.append('[');
      scala.collection.Iterator it = ((scala.collection.Iterable) o).iterator();
      boolean first = true;
      while (it.hasNext()) { if (!first) sb.append(','); first = false; any(sb, it.next(), depth + 1, terms); }
      sb.append(']');
    } else if (o instanceof Class) str(sb, ((Class) o).getName());
    else if (o instanceof scala.Product && !(o instanceof TreeNode) && depth < 3) {   // Tuple2 of CaseWhen, NumericEvalContext, ...
      scala.Product p = (scala.Product) o;
      sb.append('[');
      str(sb, p.productPrefix());
      for (int i = 0, m = p.productArity(); i < m; i++) { sb.append(','); any(sb, p.productElement(i), depth + 1, terms); }
      sb.append(']');
    } else { sb.append("{\"?\":"); str(sb, o.getClass().getName()); sb.append('}'); }
  }
  static void value(StringBuilder sb, Object v, DataType t) {
    if (v == null) sb.append("null");
    else if (v instanceof Float || v instanceof Double) str(sb, Double.toString(((Number) v).doubleValue()));
    else if (v instanceof Number || v instanceof Boolean) sb.append(v);     // incl. date, timestamps, time, intervals
    else if (v instanceof org.apache.spark.sql.types.Decimal) str(sb, ((org.apache.spark.sql.types.Decimal) v).toJavaBigDecimal().toPlainString());
    else if (v instanceof UTF8String) {
      String s = v.toString();
      if (UTF8String.fromString(s).equals(v)) str(sb, s); else b64(sb, ((UTF8String) v).getBytes());
    }
    else if (v instanceof byte[]) b64(sb, (byte[]) v);
    else { sb.append("{\"?\":"); str(sb, v.getClass().getName()); sb.append(",\"s\":"); str(sb, v.toString()); sb.append('}'); }
  }
  private static void b64(StringBuilder sb, byte[] b) { sb.append("{\"b64\":\"").append(java.util.Base64.getEncoder().encodeToString(b)).append("\"}"); }
  static void str(StringBuilder sb, String s) {
    sb.append('"');
    for (int i = 0, m = s.length(); i < m; i++) {
      char c = s.charAt(i);
      if (c == '"' || c == '\\') sb.append('\\').append(c);
      else if (c < 32 || c > 126) {                     // pure ASCII: one byte per char in py4j's buffer
        sb.append("\\u"); String h = Integer.toHexString(c); for (int k = h.length(); k < 4; k++) sb.append('0'); sb.append(h);
      } else sb.append(c);
    }
    sb.append('"');
  }
}
