package io.xskip.snapshot;

import io.xskip.shims.SparkCompat;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Tuple2;

/** A snapshot whose files come from Spark jobs, so that the names never pass through Python. */
public final class SnapshotFiller {
  private final FileSnapshot snapshot;
  private final boolean[] isFilled;
  private int missing;

  /**
   * Creates a filler without files.
   *
   * @param token the number of the snapshot
   * @param count the number of files
   */
  public SnapshotFiller(long token, int count) {
    snapshot = new FileSnapshot(token, count);
    isFilled = new boolean[count];
    missing = count;
  }

  /**
   * Runs a job and adds its rows: the ordinal as int, both hashes of the path (see {@link
   * FileSnapshot}), the length and the time as bigint, and the partition's values as a JSON array.
   *
   * @throws IllegalStateException if an ordinal occurs twice
   */
  public void add(Object df) throws Exception {
    Tuple2<?, ?> result = SparkCompat.execution(df).executedPlan().executeCollectIterator();
    scala.collection.Iterator<?> rows = (scala.collection.Iterator<?>) result._2();
    while (rows.hasNext()) {
      InternalRow row = (InternalRow) rows.next();
      int ordinal = row.getInt(0);
      if (isFilled[ordinal]) {
        throw new IllegalStateException("the metadata contains a file twice");
      }
      isFilled[ordinal] = true;
      missing--;
      snapshot.put(ordinal, row.getLong(1), row.getLong(2), row.getLong(3), row.getLong(4));
      snapshot.putPartition(ordinal, row.getUTF8String(5).toString());
    }
  }

  /**
   * Registers the snapshot for a metadata directory.
   *
   * @throws IllegalStateException if the jobs have not returned all files
   */
  public void register(String directory) {
    if (missing > 0) {
      throw new IllegalStateException("no job has returned the metadata of " + missing + " files");
    }
    Snapshots.snapshots.put(directory, snapshot);
  }
}
