package io.xskip.scan;

import java.util.function.IntPredicate;

/** A test of the numbers of files that leaves out files while a query runs. */
public interface RuntimePruning extends IntPredicate {
  /** Returns the name of the rewrite that has added the test, for reports. */
  String rewrite();

  /** Returns whether the test knew what it needs, so that it could leave out files. */
  boolean isUsed();
}
