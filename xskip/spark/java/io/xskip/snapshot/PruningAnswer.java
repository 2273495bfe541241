package io.xskip.snapshot;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.common.Bytes;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Python's answer for the files of listings. Bytes: 'B' or 'P', the snapshot's token (8 bytes, big
 * endian), a bitmap (little-endian bit order; a set bit: this ordinal can be skipped). Anything
 * else keeps everything, as does a file that the snapshot does not know or knows with another
 * length or time, and with 'P', an answer that used partition values, a file that the query lists
 * with other ones.
 */
public class PruningAnswer implements Consumer {
  private static final int HEADER = 9;
  private final FileSnapshot snap;
  private final byte[] bits;
  private final PruningCounts counts = new PruningCounts();

  private PruningAnswer(FileSnapshot snap, byte[] bits) {
    this.snap = snap;
    this.bits = bits;
  }

  public static PruningAnswer parse(byte[] b, FileSnapshot snap) {
    boolean usable =
        b != null
            && b.length >= HEADER
            && (b[0] == 'B' || b[0] == 'P')
            && snap != null
            && ByteBuffer.wrap(b, 1, 8).getLong() == snap.token
            && (b.length - HEADER) * 8L >= snap.n;
    return new PruningAnswer(snap, usable ? b : null);
  }

  public PruningCounts counts() {
    return counts;
  }

  public boolean isOf(long token) {
    return snap != null && snap.token == token;
  }

  /**
   * Whether an object is kept that is known by its ordinal, with the partition that the snapshot
   * has.
   */
  public boolean keeps(int ordinal, long length) {
    boolean keep = bits == null || !Bytes.isSet(bits, HEADER, ordinal);
    counts.add(length, true, keep);
    return keep;
  }

  /** The directories with the files that are kept; several threads look up the paths of many. */
  public Seq filter(Seq directories, StructType schema) {
    ListingFilter listed = new ListingFilter(directories, snap, this, schema);
    if (listed.shares.size() == 1) accept(listed.shares.get(0));
    else listed.shares.parallelStream().forEach(this);
    listed.end(counts);
    return listed.kept();
  }

  /** The partition of files with these values as the snapshot counts, or a negative number. */
  int partition(InternalRow values, StructType schema) {
    return usesPartitions() ? snap.partition(ExpressionEncoder.row(values, schema)) : -1;
  }

  private boolean usesPartitions() {
    return bits != null && bits[0] == 'P';
  }

  public void accept(Object o) {
    ListingSlice share = (ListingSlice) o;
    for (int i = 0; i < share.keeps.length; i++) {
      FileStatus f = share.file(i);
      int ordinal = snap == null ? -1 : share.ordinals.of(i, f, snap);
      boolean other =
          usesPartitions() && ordinal >= 0 && snap.partitionOf[ordinal] != share.partitions[i];
      share.keeps[i] = bits == null || ordinal < 0 || other || !Bytes.isSet(bits, HEADER, ordinal);
      share.counts.add(f.getLen(), ordinal >= 0, share.keeps[i]);
    }
  }
}
