package io.xskip.hook;

import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/** Exchanges one node. */
public class ConditionSplit extends AbstractPartialFunction {
  private final Object old, neu;

  ConditionSplit(Object old, Object neu) {
    this.old = old;
    this.neu = neu;
  }

  public boolean isDefinedAt(Object x) {
    return x == old;
  }

  public Object apply(Object x) {
    return neu;
  }

  public Object applyOrElse(Object x, Function1 orElse) {
    return isDefinedAt(x) ? apply(x) : orElse.apply(x);
  }
}
