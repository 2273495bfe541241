package io.xskip.collect;

import io.xskip.common.Bytes;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The Parquet footers of many files, which several threads read; empty if a file cannot be read or
 * has none.
 */
public final class FooterReader {
  private final byte[][] footers;

  public FooterReader(String[] paths, int threads) {
    footers = new byte[paths.length][];
    ExecutorService executor = Executors.newFixedThreadPool(Math.max(1, threads));
    try {
      List<Future<byte[]>> results = new ArrayList<>();
      for (String path : paths) {
        results.add(executor.submit(new FooterTask(path)));
      }
      for (int i = 0; i < footers.length; i++) {
        footers[i] = footerOf((Future<?>) results.get(i));
      }
    } finally {
      executor.shutdownNow();
    }
  }

  private static byte[] footerOf(Future<?> result) {
    try {
      return (byte[]) result.get();
    } catch (Throwable failure) {
      return new byte[0]; // the build reads the data of this file instead
    }
  }

  /** Returns all footers, concatenated, in base 64. */
  public String joined() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (byte[] footer : footers) {
      out.write(footer);
    }
    return Bytes.text(out.toByteArray());
  }

  /** Returns the length of each footer as a little-endian long, in base 64. */
  public String lengths() {
    long[] lengths = new long[footers.length];
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = footers[i].length;
    }
    return Bytes.text(Bytes.bytes(lengths));
  }
}
