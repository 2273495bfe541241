package io.xskip.catalyst;

import io.xskip.common.Bytes;
import io.xskip.shims.Scala;
import java.io.ByteArrayOutputStream;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import scala.Product;

/** Identities of users' functions, which tell whether two calls are calls of the same function. */
public final class UdfIdentity {
  private UdfIdentity() {}

  /**
   * Returns the identity of the function that an expression calls, as in [JVM-RQ-3]; null if it is
   * no user's function, or is nondeterministic, or has no name.
   */
  static String identity(Expression expression) {
    if (!expression.deterministic()) {
      return null;
    }
    if (expression instanceof ScalaUDF) {
      String name = name(expression);
      return name == null ? null : "java:" + name;
    }
    PythonFunction function = pythonFunction(expression);
    return function == null ? null : digest(function);
  }

  /** Returns the name of the user's function that an expression calls, or null. */
  static String name(Expression call) {
    if (call instanceof ScalaUDF) {
      ScalaUDF udf = (ScalaUDF) call;
      return udf.udfName().isEmpty() ? null : (String) udf.udfName().get();
    }
    return (String) ((Product) call).productElement(0);
  }

  private static PythonFunction pythonFunction(Expression expression) {
    if (!expression.getClass().getSimpleName().equals("PythonUDF")) {
      return null;
    }
    Product call = (Product) expression;
    for (int i = 0; i < call.productArity(); i++) {
      if (call.productElement(i) instanceof PythonFunction) {
        return (PythonFunction) call.productElement(i);
      }
    }
    return null;
  }

  /** Returns {@code python:} and a digest of the pickled code of a function in Python. */
  public static String digest(PythonFunction function) {
    ByteArrayOutputStream code = new ByteArrayOutputStream();
    for (Object octet : Scala.list(function.command())) {
      code.write(((Number) octet).intValue());
    }
    return "python:" + Bytes.text(Bytes.sha256(code.toByteArray()));
  }
}
