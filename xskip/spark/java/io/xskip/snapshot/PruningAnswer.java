package io.xskip.jvm;

import java.util.function.Consumer;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Python's answer for the files of listings. Bytes: 'B' or 'P', the snapshot's token (8 bytes, big endian), a bitmap
    (little-endian bit order; a set bit: this ordinal can be skipped). Anything else keeps everything, as does a file that
    the snapshot does not know or knows with another length or time, and with 'P', an answer that used partition values, a
    file that the query lists with other ones. */
class XSkipReply implements Consumer {
  private static final int HEADER = 9;
  private final XSkipSnapshot snap; private final byte[] bits; private final XSkipTally counts = new XSkipTally();

  private XSkipReply(XSkipSnapshot snap, byte[] bits) { this.snap = snap; this.bits = bits; }
  static XSkipReply parse(byte[] b, XSkipSnapshot snap) {
    boolean usable = b != null && b.length >= HEADER && (b[0] == 'B' || b[0] == 'P') && snap != null
        && java.nio.ByteBuffer.wrap(b, 1, 8).getLong() == snap.token && (b.length - HEADER) * 8L >= snap.n;
    return new XSkipReply(snap, usable ? b : null);
  }
  XSkipTally counts() { return counts; }
  boolean isOf(long token) { return snap != null && snap.token == token; }

  /** Whether an object is kept that is known by its ordinal, with the partition that the snapshot has. */
  boolean keeps(int ordinal, long length) {
    boolean keep = bits == null || !XSkipBytes.isSet(bits, HEADER, ordinal);
    counts.add(length, true, keep);
    return keep;
  }
  /** The directories with the files that are kept; several threads look up the paths of many. */
  @SEQ@ filter(@SEQ@ directories, StructType schema) {
    XSkipListed listed = new XSkipListed(directories, snap, this, schema);
    if (listed.shares.size() == 1) accept(listed.shares.get(0));
    else listed.shares.parallelStream().forEach(this);
    listed.end(counts);
    return listed.kept();
  }
  /** The partition of files with these values as the snapshot counts, or a negative number. */
  int partition(InternalRow values, StructType schema) {
    return usesPartitions() ? snap.partition(XSkipListing.json(values, schema)) : -1;
  }
  private boolean usesPartitions() { return bits != null && bits[0] == 'P'; }
  public void accept(Object o) {
    XSkipShare share = (XSkipShare) o;
    for (int i = 0; i < share.keeps.length; i++) {
      FileStatus f = share.file(i);
      int ordinal = snap == null ? -1 : share.ordinals.of(i, f, snap);
      boolean other = usesPartitions() && ordinal >= 0 && snap.partitionOf[ordinal] != share.partitions[i];
      share.keeps[i] = bits == null || ordinal < 0 || other || !XSkipBytes.isSet(bits, HEADER, ordinal);
      share.counts.add(f.getLen(), ordinal >= 0, share.keeps[i]);
    }
  }
}

/** Files and bytes listed, files that a snapshot knows, files and bytes kept. */
class XSkipTally {
  private long listed, listedBytes, known, kept, keptBytes;
  void add(long length, boolean isKnown, boolean isKept) {
    listed++; listedBytes += length;
    if (isKnown) known++;
    if (isKept) { kept++; keptBytes += length; }
  }
  void add(XSkipTally c) {
    listed += c.listed; listedBytes += c.listedBytes; known += c.known; kept += c.kept; keptBytes += c.keptBytes;
  }
  long[] all() { return new long[]{listed, listedBytes, known, kept, keptBytes}; }
}
