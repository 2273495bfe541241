package io.xskip.jvm;

import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;

/** Reads parts of files on executors. Of each part, by its number: the file's length as int64 little-endian, the file's last
    bytes, ranges of it one after the other. Told as numbers: of each part its file, how many last bytes, how many ranges, and
    of each range where it starts and its length. */
class XSkipParts implements org.apache.spark.sql.api.java.UDF1, java.io.Serializable {
  private static final int HEADER = 8;
  private final String[] paths; private final long[] told; private final int[] starts;
  private final org.apache.spark.util.SerializableConfiguration conf;
  XSkipParts(String[] keys, long[] told, int parts) {
    paths = new String[keys.length];
    for (int i = 0; i < keys.length; i++) paths[i] = XSkipHub.path(keys[i]).toString();
    this.told = told; starts = new int[parts];
    for (int i = 0, at = 0; i < parts; i++) { starts[i] = at; at += 3 + 2 * (int) told[at + 2]; }
    conf = new org.apache.spark.util.SerializableConfiguration(XSkipPlans.hadoopConf());
  }
  public Object call(Object part) throws Exception {
    int at = starts[((Number) part).intValue()], tail = (int) told[at + 1], ranges = (int) told[at + 2];
    Path path = new Path(paths[(int) told[at]]);
    long length = HEADER + tail;
    for (int i = 0; i < ranges; i++) length += told[at + 4 + 2 * i];
    if (length > Integer.MAX_VALUE - 64) throw new java.io.IOException("a part of the metadata exceeds 2 GB: " + path);
    byte[] found = new byte[(int) length];
    FileSystem fs = path.getFileSystem(conf.value());
    long size = fs.getFileStatus(path).getLen();
    java.nio.ByteBuffer.wrap(found).order(java.nio.ByteOrder.LITTLE_ENDIAN).putLong(size);
    FSDataInputStream in = fs.open(path);
    try {
      in.readFully(size - tail, found, HEADER, tail);
      for (int i = 0, k = HEADER + tail; i < ranges; i++) {
        int n = (int) told[at + 4 + 2 * i];
        in.readFully(told[at + 3 + 2 * i], found, k, n);
        k += n;
      }
    } finally {
      in.close();
    }
    return found;
  }
}

/** A snapshot that a job fills: Python sees no name. */
public class XSkipFilling {
  private final XSkipSnapshot snapshot; private final boolean[] filled; private int left;
  XSkipFilling(long token, int n) { snapshot = new XSkipSnapshot(token, n); filled = new boolean[n]; left = n; }
  /** Rows: ordinal, both hashes of the path, length, time, the partition's values as a JSON array. */
  public void add(Object df) throws Exception {
    scala.Tuple2 found = XSkipPlans.execution(df).executedPlan().executeCollectIterator();
    for (scala.collection.Iterator rows = (scala.collection.Iterator) found._2(); rows.hasNext();) {
      InternalRow r = (InternalRow) rows.next();
      int i = r.getInt(0);
      if (filled[i]) throw new IllegalStateException("the metadata contains an object twice");
      filled[i] = true; left--;
      snapshot.put(i, r.getLong(1), r.getLong(2), r.getLong(3), r.getLong(4));
      snapshot.putPartition(i, r.getUTF8String(5).toString());
    }
  }
  public void register(String directory) {
    if (left > 0) throw new IllegalStateException("no job has returned " + left + " objects of the metadata");
    XSkipHub.snapshots.put(directory, snapshot);
  }
}
