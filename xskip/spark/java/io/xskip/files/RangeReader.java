package io.xskip.files;

import io.xskip.common.Paths;
import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.util.SerializableConfiguration;

/**
 * A function that reads parts of metadata files on executors, in the form of [JVM-RG-1], by the
 * number of a part.
 */
public final class RangeReader implements UDF1<Object, Object> {
  private static final long serialVersionUID = 1L;

  // Positions in the description of a part
  private static final int FILE = 0;
  private static final int TAIL = 1;
  private static final int RANGES = 2;
  private static final int FIRST_RANGE = 3;

  private static final int MAX_ARRAY_LENGTH = Integer.MAX_VALUE - 64;

  private final String[] paths;
  private final long[] descriptions;

  private final int[] starts; // the position in descriptions of each part

  private final SerializableConfiguration conf;

  /** Creates a reader on the driver; the files are keys of {@link Paths}. */
  public RangeReader(String[] keys, long[] descriptions, int parts) {
    paths = new String[keys.length];
    for (int i = 0; i < keys.length; i++) {
      paths[i] = Paths.path(keys[i]).toString();
    }
    this.descriptions = descriptions;
    starts = new int[parts];
    int start = 0;
    for (int i = 0; i < parts; i++) {
      starts[i] = start;
      start += FIRST_RANGE + 2 * (int) descriptions[start + RANGES];
    }
    conf = new SerializableConfiguration(SparkCompat.hadoopConf());
  }

  @Override
  public Object call(Object part) throws Exception {
    int start = starts[((Number) part).intValue()];
    Path path = new Path(paths[(int) descriptions[start + FILE]]);
    int tail = (int) descriptions[start + TAIL];
    byte[] bytes = new byte[lengthOf(start, path)];
    FileSystem fileSystem = path.getFileSystem(conf.value());
    long fileLength = fileSystem.getFileStatus(path).getLen();
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(fileLength);
    FSDataInputStream in = fileSystem.open(path);
    try {
      in.readFully(fileLength - tail, bytes, Long.BYTES, tail);
      readRanges(start, in, bytes, Long.BYTES + tail);
    } finally {
      in.close();
    }
    return bytes;
  }

  private int lengthOf(int start, Path path) throws IOException {
    int ranges = (int) descriptions[start + RANGES];
    long length = Long.BYTES + descriptions[start + TAIL];
    for (int i = 0; i < ranges; i++) {
      length += descriptions[start + FIRST_RANGE + 2 * i + 1];
    }
    if (length > MAX_ARRAY_LENGTH) {
      throw new IOException("a part of the metadata exceeds 2 GB: " + path);
    }
    return (int) length;
  }

  private void readRanges(int start, FSDataInputStream in, byte[] bytes, int offset)
      throws IOException {
    int ranges = (int) descriptions[start + RANGES];
    int next = offset;
    for (int i = 0; i < ranges; i++) {
      long position = descriptions[start + FIRST_RANGE + 2 * i];
      int length = (int) descriptions[start + FIRST_RANGE + 2 * i + 1];
      in.readFully(position, bytes, next, length);
      next += length;
    }
  }
}
