package io.xskip.catalyst;

import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import scala.Product;

/** Functions of users: which one a call is of. */
public class UdfIdentity {
  /** Null for what is no such call, or one of chance, or of a function without a name. */
  static String identity(Expression e) {
    if (!e.deterministic()) return null;
    if (e instanceof ScalaUDF) return name(e) == null ? null : "java:" + name(e);
    PythonFunction f = code(e);
    return f == null ? null : digest(f);
  }

  static String name(Expression e) {
    if (e instanceof ScalaUDF)
      return ((ScalaUDF) e).udfName().isEmpty() ? null : (String) ((ScalaUDF) e).udfName().get();
    return (String) ((Product) e).productElement(0);
  }

  private static PythonFunction code(Expression e) {
    if (!e.getClass().getSimpleName().equals("PythonUDF")) return null;
    for (scala.collection.Iterator it = ((Product) e).productIterator(); it.hasNext(); ) {
      Object o = it.next();
      if (o instanceof PythonFunction) return (PythonFunction) o;
    }
    return null;
  }

  /** Of a function's code, which is its pickled form. */
  public static String digest(PythonFunction f) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (scala.collection.Iterator it = f.command().iterator(); it.hasNext(); )
      out.write(((Byte) it.next()).intValue());
    try {
      byte[] d = MessageDigest.getInstance("SHA-256").digest(out.toByteArray());
      return "python:" + Base64.getEncoder().encodeToString(d);
    } catch (NoSuchAlgorithmException never) {
      throw new IllegalStateException(never);
    }
  }
}
