package io.xskip.jvm;

import java.util.ArrayList;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;

/** The files of a listing in shares, for several threads, and then a predicate on them in their order. */
class XSkipListed extends scala.runtime.AbstractFunction1 {
  final ArrayList shares = new ArrayList();
  private final @SEQ@ directories; private final XSkipSnapshot snap; private int at = 0;

  XSkipListed(@SEQ@ directories, XSkipSnapshot snap, XSkipReply reply, StructType schema) {
    this.directories = directories; this.snap = snap;
    int total = 0;
    for (scala.collection.Iterator it = directories.iterator(); it.hasNext();) total += ((PartitionDirectory) it.next()).files().length();
    XSkipOrdinals[] before = snap == null || snap.memo == null ? null : (XSkipOrdinals[]) snap.memo.get();
    boolean alike = before != null && XSkipOrdinals.count(before) == total;
    for (int from = 0; from < total; from += XSkipShare.SIZE) {
      int size = Math.min(XSkipShare.SIZE, total - from);
      shares.add(new XSkipShare(size, alike ? before[shares.size()].again() : new XSkipOrdinals(size)));
    }
    for (scala.collection.Iterator it = directories.iterator(); it.hasNext();) {
      PartitionDirectory directory = (PartitionDirectory) it.next();
      int partition = reply.partition(directory.values(), schema);
      for (scala.collection.Iterator of = directory.files().iterator(); of.hasNext(); at++) {
        share(at).set(at % XSkipShare.SIZE, of.next(), partition);
      }
    }
  }
  private XSkipShare share(int i) { return (XSkipShare) shares.get(i / XSkipShare.SIZE); }
  /** After all shares are looked up. */
  void end(XSkipTally counts) {
    XSkipOrdinals[] now = new XSkipOrdinals[shares.size()];
    boolean isNew = false;
    for (int i = 0; i < now.length; i++) {
      XSkipShare share = (XSkipShare) shares.get(i);
      counts.add(share.counts);
      now[i] = share.ordinals;
      isNew |= now[i].isNew();
    }
    if (isNew && snap != null) snap.memo = new java.lang.ref.SoftReference(now);
  }
  /** As Spark does, without empty directories. */
  @SEQ@ kept() {
    at = 0;
    scala.collection.immutable.VectorBuilder b = new scala.collection.immutable.VectorBuilder();
    for (scala.collection.Iterator it = directories.iterator(); it.hasNext();) {
      PartitionDirectory directory = (PartitionDirectory) it.next();
      @SEQ@ kept = (@SEQ@) directory.files().filter(this);
      int k = kept.length();
      if (k > 0) b.$plus$eq(k == directory.files().length() ? directory : new PartitionDirectory(directory.values(), kept));
    }
    return (@SEQ@) (Object) b.result();
  }
  public Object apply(Object next) {
    boolean keep = share(at).keeps[at % XSkipShare.SIZE];
    at++;
    return keep ? Boolean.TRUE : Boolean.FALSE;
  }
}

/** A stretch of a listing, which one thread looks up. */
class XSkipShare {
  static final int SIZE = 1 << 13;
  final boolean[] keeps; final int[] partitions; final XSkipOrdinals ordinals; final XSkipTally counts = new XSkipTally();
  private final Object[] files;
  XSkipShare(int size, XSkipOrdinals ordinals) {
    keeps = new boolean[size]; partitions = new int[size]; files = new Object[size];
    this.ordinals = ordinals;
  }
  void set(int i, Object file, int partition) { files[i] = file; partitions[i] = partition; }
  FileStatus file(int i) { return ((FileStatusWithMetadata) files[i]).fileStatus(); }
}

/** The ordinals of a stretch of files in a snapshot, valid per position by identity: what is listed again is not hashed. */
class XSkipOrdinals {
  private FileStatus[] files; private int[] ordinals; private boolean isNew; private int last = -1;
  XSkipOrdinals(int size) { this(new FileStatus[size], new int[size], true); }
  private XSkipOrdinals(FileStatus[] files, int[] ordinals, boolean isNew) {
    this.files = files; this.ordinals = ordinals; this.isNew = isNew;
  }
  /** The same, to which others may be added: what has been remembered does not change. */
  XSkipOrdinals again() { return new XSkipOrdinals(files, ordinals, false); }
  boolean isNew() { return isNew; }
  static int count(XSkipOrdinals[] all) {
    int n = 0;
    for (int i = 0; i < all.length; i++) n += all[i].files.length;
    return n;
  }
  int of(int i, FileStatus f, XSkipSnapshot snap) {
    if (files[i] == f) return ordinals[i];
    if (!isNew) { files = (FileStatus[]) files.clone(); ordinals = (int[]) ordinals.clone(); isNew = true; }
    files[i] = f;
    ordinals[i] = snap.ordinal(f, last + 1);
    if (ordinals[i] >= 0) last = ordinals[i];
    return ordinals[i];
  }
}
