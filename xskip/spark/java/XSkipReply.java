package io.xskip.jvm;

import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;

/** Python's answer as a predicate on files. Bytes: 'B' or 'P', the snapshot's token (8 bytes, big endian), a bitmap
    (little-endian bit order; a set bit: this ordinal can be skipped). Anything else keeps everything, as does a file that
    the snapshot does not know or knows with another length or time, and with 'P', an answer that used partition values, a
    file that the query lists with other ones. */
class XSkipReply extends scala.runtime.AbstractFunction1 {
  private static final int HEADER = 9;
  private final XSkipSnapshot snap; private final byte[] bits;
  private int partition = -1;                       // of the files to come, as the snapshot counts
  private long listed, listedBytes, known, kept, keptBytes;
  // ordinals of the last listing, valid per position by identity: the same index listed again hashes no path
  private FileStatus[] memoFiles; private int[] memoOrdinals; private boolean fresh; private int at, last = -1;

  private XSkipReply(XSkipSnapshot snap, byte[] bits) { this.snap = snap; this.bits = bits; }
  static XSkipReply parse(byte[] b, XSkipSnapshot snap) {
    boolean usable = b != null && b.length >= HEADER && (b[0] == 'B' || b[0] == 'P') && snap != null
        && java.nio.ByteBuffer.wrap(b, 1, 8).getLong() == snap.token && (b.length - HEADER) * 8L >= snap.n;
    return new XSkipReply(snap, usable ? b : null);
  }
  void begin(int total) {
    if (snap == null) return;
    Object[] m = snap.memo == null ? null : (Object[]) snap.memo.get();
    if (m != null && ((FileStatus[]) m[0]).length == total) { memoFiles = (FileStatus[]) m[0]; memoOrdinals = (int[]) m[1]; }
    else { memoFiles = new FileStatus[total]; memoOrdinals = new int[total]; fresh = true; }
  }
  void end() { if (fresh) snap.memo = new java.lang.ref.SoftReference(new Object[]{memoFiles, memoOrdinals}); }

  /** Files and bytes listed, files that the snapshot knows, files and bytes kept. */
  long[] counts() { return new long[]{listed, listedBytes, known, kept, keptBytes}; }

  boolean isOf(long token) { return snap != null && snap.token == token; }
  /** The same for a file that is known by its ordinal, with the partition that the snapshot has. */
  boolean keeps(int ordinal, long length) {
    return counted(bits == null || !XSkipBytes.isSet(bits, HEADER, ordinal), true, length);
  }
  private boolean counted(boolean keep, boolean isKnown, long length) {
    listed++; listedBytes += length;
    if (isKnown) known++;
    if (keep) { kept++; keptBytes += length; }
    return keep;
  }
  /** The partition whose files come next. */
  void enter(org.apache.spark.sql.catalyst.InternalRow values, org.apache.spark.sql.types.StructType schema) {
    if (bits != null && bits[0] == 'P') partition = snap.partition(XSkipListing.json(values, schema));
  }
  public Object apply(Object o) {
    FileStatus f = ((FileStatusWithMetadata) o).fileStatus();
    int ordinal = snap == null ? -1 : ordinal(f);
    boolean other = bits != null && bits[0] == 'P' && ordinal >= 0 && snap.partitionOf[ordinal] != partition;
    boolean keep = bits == null || ordinal < 0 || other || !XSkipBytes.isSet(bits, HEADER, ordinal);
    return counted(keep, ordinal >= 0, f.getLen()) ? Boolean.TRUE : Boolean.FALSE;
  }
  private int ordinal(FileStatus f) {
    int p = at++;
    if (memoFiles[p] == f) return memoOrdinals[p];
    int found = snap.ordinal(f, last + 1);
    if (found >= 0) last = found;
    if (!fresh) { memoFiles = (FileStatus[]) memoFiles.clone(); memoOrdinals = (int[]) memoOrdinals.clone(); fresh = true; }
    memoFiles[p] = f; memoOrdinals[p] = found;
    return found;
  }
}
