package io.xskip.rewrite;

import io.xskip.common.Failures;
import io.xskip.scan.NumberedListing;
import io.xskip.scan.RuntimePruning;
import java.io.Serializable;
import java.util.BitSet;

/**
 * The files of a relation that can have a matching row, as far as it is known while the query runs:
 * a test of their numbers, which Spark evaluates in the driver.
 */
abstract class FilePruning implements RuntimePruning, Serializable {
  private static final long serialVersionUID = 1L;

  private final transient NumberedListing listing;

  /** The numbers of the files of a listing that can have a matching row; null for all. */
  private transient BitSet kept = null;

  /** The number from which on files are not in {@link #kept}. */
  private transient int end = 0;

  FilePruning(NumberedListing listing) {
    this.listing = listing;
  }

  /** Returns the numbers of the files that can have a matching row, or null for all. */
  abstract BitSet matching(NumberedListing listing) throws Throwable;

  /** Returns whether a file can have a matching row; after an error, it can. */
  @Override
  public final synchronized boolean test(int number) {
    if (end != listing.next()) {
      end = listing.next();
      try {
        kept = matching(listing);
      } catch (Throwable t) {
        Failures.logFailure("pruning while a query runs", t);
        kept = null;
      }
    }
    return kept == null || number >= end || kept.get(number);
  }

  @Override
  public final synchronized boolean isUsed() {
    return kept != null;
  }

  /** Executors get plans without this class, and test no files. */
  public final Object writeReplace() {
    return Boolean.TRUE;
  }
}
