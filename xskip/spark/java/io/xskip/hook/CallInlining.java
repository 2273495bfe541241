package io.xskip.hook;

import java.util.HashMap;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.Product;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/** Puts the calls of functions in Python back in the place of their results. */
public class CallInlining extends AbstractPartialFunction {
  private final HashMap calls = new HashMap(); // the result's id -> the call

  CallInlining(LogicalPlan eval) {
    Product p = (Product) eval; // udfs, their results, child, …
    Seq udfs = (Seq) p.productElement(0), results = (Seq) p.productElement(1);
    for (int i = 0; i < udfs.length(); i++)
      calls.put(((Attribute) results.apply(i)).exprId(), udfs.apply(i));
  }

  public boolean isDefinedAt(Object x) {
    return x instanceof Attribute && calls.containsKey(((Attribute) x).exprId());
  }

  public Object apply(Object x) {
    return calls.get(((Attribute) x).exprId());
  }

  public Object applyOrElse(Object x, Function1 orElse) {
    return isDefinedAt(x) ? apply(x) : orElse.apply(x);
  }
}
