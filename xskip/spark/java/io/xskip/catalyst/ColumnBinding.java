package io.xskip.catalyst;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.types.DataType;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** Puts the value of a row in the place of the column. */
public class ColumnBinding extends AbstractPartialFunction {
  DataType type = null;

  public boolean isDefinedAt(Object x) {
    Object e = x;
    while (e instanceof GetStructField) e = ((GetStructField) e).child();
    return e instanceof AttributeReference;
  }

  public Object apply(Object x) {
    type = ((Expression) x).dataType();
    return new BoundReference(0, type, true);
  }

  public Object applyOrElse(Object x, Function1 orElse) {
    return isDefinedAt(x) ? apply(x) : orElse.apply(x);
  }
}
