package io.xskip.files;

import io.xskip.common.Paths;
import io.xskip.common.SparkCompat;
import java.io.IOException;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Reads parts of files on executors. Of each part, by its number: the file's length as int64
 * little-endian, the file's last bytes, ranges of it one after the other. Told as numbers: of each
 * part its file, how many last bytes, how many ranges, and of each range where it starts and its
 * length.
 */
public class RangeReader implements UDF1, Serializable {
  private static final int HEADER = 8;
  private final String[] paths;
  private final long[] told;
  private final int[] starts;
  private final SerializableConfiguration conf;

  public RangeReader(String[] keys, long[] told, int parts) {
    paths = new String[keys.length];
    for (int i = 0; i < keys.length; i++) paths[i] = Paths.path(keys[i]).toString();
    this.told = told;
    starts = new int[parts];
    for (int i = 0, at = 0; i < parts; i++) {
      starts[i] = at;
      at += 3 + 2 * (int) told[at + 2];
    }
    conf = new SerializableConfiguration(SparkCompat.hadoopConf());
  }

  public Object call(Object part) throws Exception {
    int at = starts[((Number) part).intValue()],
        tail = (int) told[at + 1],
        ranges = (int) told[at + 2];
    Path path = new Path(paths[(int) told[at]]);
    long length = HEADER + tail;
    for (int i = 0; i < ranges; i++) length += told[at + 4 + 2 * i];
    if (length > Integer.MAX_VALUE - 64)
      throw new IOException("a part of the metadata exceeds 2 GB: " + path);
    byte[] found = new byte[(int) length];
    FileSystem fs = path.getFileSystem(conf.value());
    long size = fs.getFileStatus(path).getLen();
    ByteBuffer.wrap(found).order(ByteOrder.LITTLE_ENDIAN).putLong(size);
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
