package io.xskip.jvm;

import java.util.Arrays;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.unsafe.types.UTF8String;

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
  private FileStatus[] memoFiles; private int[] memoOrdinals; private boolean fresh; private int at;

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

  /** The partition whose files come next. */
  void enter(org.apache.spark.sql.catalyst.InternalRow values, org.apache.spark.sql.types.StructType schema) {
    if (bits != null && bits[0] == 'P') partition = snap.partition(XSkipListing.json(values, schema));
  }
  public Object apply(Object o) {
    FileStatus f = ((FileStatusWithMetadata) o).fileStatus();
    int ordinal = snap == null ? -1 : ordinal(f);
    boolean other = bits != null && bits[0] == 'P' && ordinal >= 0 && snap.partitionOf[ordinal] != partition;
    boolean keep = bits == null || ordinal < 0 || other || (bits[HEADER + (ordinal >>> 3)] & (1 << (ordinal & 7))) == 0;
    listed++; listedBytes += f.getLen();
    if (ordinal >= 0) known++;
    if (keep) { kept++; keptBytes += f.getLen(); }
    return keep ? Boolean.TRUE : Boolean.FALSE;
  }
  private int ordinal(FileStatus f) {
    int p = at++;
    if (memoFiles[p] == f) return memoOrdinals[p];
    int found = snap.ordinal(f);
    if (!fresh) { memoFiles = (FileStatus[]) memoFiles.clone(); memoOrdinals = (int[]) memoOrdinals.clone(); fresh = true; }
    memoFiles[p] = f; memoOrdinals[p] = found;
    return found;
  }
}

/** Path to ordinal, an open-addressing table without strings: XXH64 and String.hashCode of the path, length, time. */
class XSkipSnapshot {
  final long token; final int n; final int[] partitionOf;
  private final java.util.HashMap partitions = new java.util.HashMap();
  volatile java.lang.ref.SoftReference memo = null;
  private final long[] h1, length, time; private final int[] h2, table; private final int mask;

  XSkipSnapshot(long token, byte[] ids, long[] numbers, byte[] partitions) {
    this.token = token; this.n = numbers.length / 3;
    this.length = Arrays.copyOfRange(numbers, 0, n);
    this.time = Arrays.copyOfRange(numbers, n, 2 * n);
    this.partitionOf = new int[n];
    for (int i = 0; i < n; i++) partitionOf[i] = (int) numbers[2 * n + i];
    String[] texts = new String(partitions, java.nio.charset.StandardCharsets.UTF_8).split("\u0000", -1);
    for (int i = 0; i < texts.length; i++) this.partitions.put(texts[i], new Integer(i));
    this.h1 = new long[n]; this.h2 = new int[n];
    int capacity = 16;
    while (capacity < n * 2L) capacity <<= 1;
    table = new int[capacity]; Arrays.fill(table, -1); mask = capacity - 1;
    int ordinal = 0, start = 0;
    for (int i = 0; i <= ids.length && ordinal < n; i++) {
      if (i < ids.length && ids[i] != 0) continue;
      String s = new String(ids, start, i - start, java.nio.charset.StandardCharsets.UTF_8);
      h1[ordinal] = xx(s); h2[ordinal] = s.hashCode();
      int k = slot(h1[ordinal]);
      while (table[k] >= 0) k = (k + 1) & mask;
      table[k] = ordinal++;
      start = i + 1;
    }
    if (ordinal != n) throw new IllegalArgumentException(ordinal + " paths, " + n + " lengths");
  }
  /** The partition with these values, or -2. */
  int partition(String text) { Integer i = (Integer) partitions.get(text); return i == null ? -2 : i.intValue(); }
  private int slot(long h) { return (int) (h ^ (h >>> 32)) & mask; }
  private static long xx(String s) {
    UTF8String u = UTF8String.fromString(s);
    return org.apache.spark.sql.catalyst.expressions.XXH64.hashUnsafeBytes(u.getBaseObject(), u.getBaseOffset(), u.numBytes(), 42L);
  }
  /** The ordinal, or -1 where the file is not in the snapshot, or with another length or time. A path can stand in the
      snapshot more than once, with several times: any of them may be the file's. */
  int ordinal(FileStatus f) {
    String s = f.getPath().toUri().getPath();
    long h = xx(s);
    int k = slot(h), o;
    while ((o = table[k]) >= 0) {
      if (h1[o] == h && h2[o] == s.hashCode() && time[o] == f.getModificationTime()
          && (length[o] < 0 || length[o] == f.getLen())) return o;
      k = (k + 1) & mask;
    }
    return -1;
  }
}
