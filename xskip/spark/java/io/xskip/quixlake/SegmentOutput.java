package io.xskip.quixlake;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;

/** The file into which a task writes a segment. No reader sees it before its batch is committed. */
abstract class SegmentOutput {
  /** Creates the file. */
  abstract FSDataOutputStream create() throws IOException;

  /** Returns whether {@link #store} needs the digest of the messages. */
  abstract boolean needsDigest();

  /**
   * Keeps the complete file for the commit of the batch.
   *
   * @param name the name of the segment, still without a digest
   * @param digest null if it is not needed
   */
  abstract StoredSegment store(String name, String digest) throws IOException;

  /** Removes all that is left of the file after an error; it may not exist. */
  abstract void remove() throws IOException;

  /** Where a segment is until its batch is committed: under a hidden name, or in an upload. */
  static final class StoredSegment {
    final String hidden; // null for an upload
    final String name; // of the segment after the commit
    final String upload; // the text of a SegmentUpload, or null

    StoredSegment(String hidden, String name, String upload) {
      this.hidden = hidden;
      this.name = name;
      this.upload = upload;
    }
  }
}
