package io.xskip.catalyst;

import scala.runtime.AbstractPartialFunction;

/** A partial function that exchanges the nodes of a tree, for {@code TreeNode.transformDown}. */
public abstract class NodeRewriter<T> extends AbstractPartialFunction<T, T> {
  // Janino creates no bridge methods: the methods of subclasses have the erased types.
  protected abstract boolean matches(Object node);

  /** Returns the node that takes the place of a node for which {@link #matches} is true. */
  protected abstract Object rewrite(Object node);

  @Override
  public final boolean isDefinedAt(T node) {
    return matches(node);
  }

  @Override
  @SuppressWarnings("unchecked")
  public final T apply(T node) {
    return (T) rewrite(node);
  }
}
