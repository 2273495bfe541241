package io.xskip.collect;

import io.xskip.common.Bytes;
import java.io.ByteArrayOutputStream;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The Parquet footers of many files on any file system, read by several threads: each is the file's
 * last bytes, from the start of its footer on. A file that cannot be read, or is no plain Parquet,
 * has none.
 */
public class FooterReader {
  private final byte[][] footers;

  public FooterReader(final String[] paths, int threads) {
    footers = new byte[paths.length][];
    ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, threads));
    try {
      Future[] done = new Future[paths.length];
      for (int i = 0; i < paths.length; i++) done[i] = pool.submit(new FooterTask(paths[i]));
      for (int i = 0; i < paths.length; i++) {
        try {
          footers[i] = (byte[]) done[i].get();
        } catch (Throwable t) {
          footers[i] = new byte[0];
        }
      }
    } finally {
      pool.shutdownNow();
    }
  }

  public String joined() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (int i = 0; i < footers.length; i++) out.write(footers[i]);
    return Bytes.text(out.toByteArray());
  }

  public String lengths() {
    long[] n = new long[footers.length];
    for (int i = 0; i < n.length; i++) n[i] = footers[i].length;
    return Bytes.text(Bytes.bytes(n));
  }
}
