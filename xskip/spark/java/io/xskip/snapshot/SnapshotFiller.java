package io.xskip.snapshot;

import io.xskip.common.SparkCompat;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Tuple2;

/** A snapshot that a job fills: Python sees no name. */
public class SnapshotFiller {
  private final FileSnapshot snapshot;
  private final boolean[] filled;
  private int left;

  public SnapshotFiller(long token, int n) {
    snapshot = new FileSnapshot(token, n);
    filled = new boolean[n];
    left = n;
  }

  /**
   * Rows: ordinal, both hashes of the path, length, time, the partition's values as a JSON array.
   */
  public void add(Object df) throws Exception {
    Tuple2 found = SparkCompat.execution(df).executedPlan().executeCollectIterator();
    for (scala.collection.Iterator rows = (scala.collection.Iterator) found._2();
        rows.hasNext(); ) {
      InternalRow r = (InternalRow) rows.next();
      int i = r.getInt(0);
      if (filled[i]) throw new IllegalStateException("the metadata contains an object twice");
      filled[i] = true;
      left--;
      snapshot.put(i, r.getLong(1), r.getLong(2), r.getLong(3), r.getLong(4));
      snapshot.putPartition(i, r.getUTF8String(5).toString());
    }
  }

  public void register(String directory) {
    if (left > 0)
      throw new IllegalStateException("no job has returned " + left + " objects of the metadata");
    Snapshots.snapshots.put(directory, snapshot);
  }
}
