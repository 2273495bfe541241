package io.xskip.common;

import java.util.Iterator;
import java.util.Map;
import scala.Tuple2;

/** JSON texts of pure ASCII. */
public class Json {
  private Json() {}

  /** A Scala or Java map of strings. */
  public static void strings(StringBuilder sb, Object m) {
    sb.append('{');
    boolean first = true;
    if (m instanceof Map) {
      for (Iterator it = ((Map) m).entrySet().iterator(); it.hasNext(); first = false) {
        Map.Entry e = (Map.Entry) it.next();
        pair(sb, first, e.getKey(), e.getValue());
      }
    } else if (m != null) {
      for (scala.collection.Iterator it = ((scala.collection.Iterable) m).iterator();
          it.hasNext();
          first = false) {
        Tuple2 e = (Tuple2) it.next();
        pair(sb, first, e._1(), e._2());
      }
    }
    sb.append('}');
  }

  public static void pair(StringBuilder sb, boolean first, Object k, Object v) {
    if (!first) sb.append(',');
    string(sb, String.valueOf(k));
    sb.append(':');
    string(sb, String.valueOf(v));
  }

  public static void string(StringBuilder sb, String s) {
    sb.append('"');
    for (int i = 0, m = s.length(); i < m; i++) {
      char c = s.charAt(i);
      if (c == '"' || c == '\\') sb.append('\\').append(c);
      else if (c < 32 || c > 126) { // pure ASCII: one byte per char in py4j's buffer
        sb.append("\\u");
        String h = Integer.toHexString(c);
        for (int k = h.length(); k < 4; k++) sb.append('0');
        sb.append(h);
      } else sb.append(c);
    }
    sb.append('"');
  }
}
