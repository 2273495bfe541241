package io.xskip.jvm;

import java.io.ByteArrayOutputStream;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** The Parquet footers of many files on any file system, read by several threads: each is the file's last bytes, from the
    start of its footer on. A file that cannot be read, or is no plain Parquet, has none. */
public class XSkipTails {
  private final byte[][] footers;
  XSkipTails(final String[] paths, int threads) {
    footers = new byte[paths.length][];
    ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, threads));
    try {
      Future[] done = new Future[paths.length];
      for (int i = 0; i < paths.length; i++) done[i] = pool.submit(new XSkipTail(paths[i]));
      for (int i = 0; i < paths.length; i++) {
        try { footers[i] = (byte[]) done[i].get(); } catch (Throwable t) { footers[i] = new byte[0]; }
      }
    } finally {
      pool.shutdownNow();
    }
  }
  public String joined() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (int i = 0; i < footers.length; i++) out.write(footers[i]);
    return XSkipBytes.text(out.toByteArray());
  }
  public String lengths() {
    long[] n = new long[footers.length];
    for (int i = 0; i < n.length; i++) n[i] = footers[i].length;
    return XSkipBytes.text(XSkipBytes.bytes(n));
  }
}

class XSkipTail implements Callable {
  private static final int GUESS = 65536, MAX = 1 << 28;
  private final String path;
  XSkipTail(String path) { this.path = path; }
  public Object call() throws Exception {
    Path p = new Path(path);
    FileSystem fs = p.getFileSystem(XSkipPlans.hadoopConf());
    long size = fs.getFileStatus(p).getLen();
    if (size < 12) return new byte[0];
    FSDataInputStream in = fs.open(p);
    try {
      int n = (int) Math.min(size, GUESS);
      byte[] tail = new byte[n];
      in.readFully(size - n, tail);
      if (!(tail[n - 4] == 'P' && tail[n - 3] == 'A' && tail[n - 2] == 'R' && tail[n - 1] == '1')) return new byte[0];
      long footer = java.nio.ByteBuffer.wrap(tail, n - 8, 4).order(java.nio.ByteOrder.LITTLE_ENDIAN).getInt() + 8L;
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
