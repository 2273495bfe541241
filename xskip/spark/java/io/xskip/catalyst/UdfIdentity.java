package io.xskip.jvm;

import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;

/** Functions of users: which one a call is of. */
class XSkipFunctions {
  /** Null for what is no such call, or one of chance, or of a function without a name. */
  static String identity(Expression e) {
    if (!e.deterministic()) return null;
    if (e instanceof ScalaUDF) return name(e) == null ? null : "java:" + name(e);
    PythonFunction f = code(e);
    return f == null ? null : digest(f);
  }
  static String name(Expression e) {
    if (e instanceof ScalaUDF) return ((ScalaUDF) e).udfName().isEmpty() ? null : (String) ((ScalaUDF) e).udfName().get();
    return (String) ((scala.Product) e).productElement(0);
  }
  private static PythonFunction code(Expression e) {
    if (!e.getClass().getSimpleName().equals("PythonUDF")) return null;
    for (scala.collection.Iterator it = ((scala.Product) e).productIterator(); it.hasNext();) {
      Object o = it.next();
      if (o instanceof PythonFunction) return (PythonFunction) o;
    }
    return null;
  }
  /** Of a function's code, which is its pickled form. */
  static String digest(PythonFunction f) {
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    for (scala.collection.Iterator it = f.command().iterator(); it.hasNext();) out.write(((Byte) it.next()).intValue());
    try {
      byte[] d = java.security.MessageDigest.getInstance("SHA-256").digest(out.toByteArray());
      return "python:" + java.util.Base64.getEncoder().encodeToString(d);
    } catch (java.security.NoSuchAlgorithmException never) { throw new IllegalStateException(never); }
  }
}
