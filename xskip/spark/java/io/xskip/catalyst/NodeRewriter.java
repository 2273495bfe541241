package io.xskip.catalyst;

import scala.runtime.AbstractPartialFunction;

/**
 * A partial function that exchanges the nodes of a tree, for {@code TreeNode.transformDown}.
 *
 * <p>Janino creates no bridge methods. So the methods of subclasses have the erased types, and this
 * class casts to the type of the nodes.
 *
 * @param <T> the type of the nodes
 */
public abstract class NodeRewriter<T> extends AbstractPartialFunction<T, T> {
  /** Returns whether a node is exchanged. */
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
