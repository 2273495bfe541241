package io.xskip.snapshot;

import java.lang.ref.SoftReference;
import java.util.ArrayList;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;
import scala.runtime.AbstractFunction1;

/**
 * The files of a listing in shares, for several threads, and then a predicate on them in their
 * order.
 */
public class ListingFilter extends AbstractFunction1 {
  final ArrayList shares = new ArrayList();
  private final Seq directories;
  private final FileSnapshot snap;
  private int at = 0;

  ListingFilter(Seq directories, FileSnapshot snap, PruningAnswer reply, StructType schema) {
    this.directories = directories;
    this.snap = snap;
    int total = 0;
    for (scala.collection.Iterator it = directories.iterator(); it.hasNext(); )
      total += ((PartitionDirectory) it.next()).files().length();
    FileOrdinals[] before =
        snap == null || snap.memo == null ? null : (FileOrdinals[]) snap.memo.get();
    boolean alike = before != null && FileOrdinals.count(before) == total;
    for (int from = 0; from < total; from += ListingSlice.SIZE) {
      int size = Math.min(ListingSlice.SIZE, total - from);
      shares.add(
          new ListingSlice(size, alike ? before[shares.size()].again() : new FileOrdinals(size)));
    }
    for (scala.collection.Iterator it = directories.iterator(); it.hasNext(); ) {
      PartitionDirectory directory = (PartitionDirectory) it.next();
      int partition = reply.partition(directory.values(), schema);
      for (scala.collection.Iterator of = directory.files().iterator(); of.hasNext(); at++) {
        share(at).set(at % ListingSlice.SIZE, of.next(), partition);
      }
    }
  }

  private ListingSlice share(int i) {
    return (ListingSlice) shares.get(i / ListingSlice.SIZE);
  }

  /** After all shares are looked up. */
  void end(PruningCounts counts) {
    FileOrdinals[] now = new FileOrdinals[shares.size()];
    boolean isNew = false;
    for (int i = 0; i < now.length; i++) {
      ListingSlice share = (ListingSlice) shares.get(i);
      counts.add(share.counts);
      now[i] = share.ordinals;
      isNew |= now[i].isNew();
    }
    if (isNew && snap != null) snap.memo = new SoftReference(now);
  }

  /** As Spark does, without empty directories. */
  Seq kept() {
    at = 0;
    VectorBuilder b = new VectorBuilder();
    for (scala.collection.Iterator it = directories.iterator(); it.hasNext(); ) {
      PartitionDirectory directory = (PartitionDirectory) it.next();
      Seq kept = (Seq) directory.files().filter(this);
      int k = kept.length();
      if (k > 0)
        b.$plus$eq(
            k == directory.files().length()
                ? directory
                : new PartitionDirectory(directory.values(), kept));
    }
    return (Seq) (Object) b.result();
  }

  public Object apply(Object next) {
    boolean keep = share(at).keeps[at % ListingSlice.SIZE];
    at++;
    return keep ? Boolean.TRUE : Boolean.FALSE;
  }
}
