package io.xskip.collect;

import io.xskip.common.SparkCompat;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

public class FooterTask implements Callable {
  private static final int GUESS = 65536, MAX = 1 << 28;
  private final String path;

  FooterTask(String path) {
    this.path = path;
  }

  public Object call() throws Exception {
    Path p = new Path(path);
    FileSystem fs = p.getFileSystem(SparkCompat.hadoopConf());
    long size = fs.getFileStatus(p).getLen();
    if (size < 12) return new byte[0];
    FSDataInputStream in = fs.open(p);
    try {
      int n = (int) Math.min(size, GUESS);
      byte[] tail = new byte[n];
      in.readFully(size - n, tail);
      if (!(tail[n - 4] == 'P' && tail[n - 3] == 'A' && tail[n - 2] == 'R' && tail[n - 1] == '1'))
        return new byte[0];
      long footer = ByteBuffer.wrap(tail, n - 8, 4).order(ByteOrder.LITTLE_ENDIAN).getInt() + 8L;
      if (footer < 8 || footer > size || footer > MAX) return new byte[0];
      byte[] whole = new byte[(int) footer];
      if (footer <= n) System.arraycopy(tail, n - (int) footer, whole, 0, whole.length);
      else in.readFully(size - footer, whole);
      return whole;
    } finally {
      in.close();
    }
  }
}
