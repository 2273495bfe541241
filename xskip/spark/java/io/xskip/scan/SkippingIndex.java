package io.xskip.scan;

/** A file index that lists the files of an indexed relation without those that indexes rule out. */
public interface SkippingIndex {
  ScanContext context();

  /** Forgets the latest listing, so that the next one asks the indexes. */
  void forgetListing();
}
