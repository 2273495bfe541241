package io.xskip.files;

import io.xskip.common.Bytes;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.Path;

/** A small file of a listing, of which a thread reads all bytes. */
final class ListedFile implements Callable<byte[]> {
  private final String path;
  private final long length;

  private ListedFile(String path, long length) {
    this.path = path;
    this.length = length;
  }

  /**
   * Reads files in several threads.
   *
   * @param paths the paths, separated by NUL
   * @param lengths the length of each file in the listing, as int64
   * @return in base 64 the number of bytes that each file has, as int64 and -1 for a file that does
   *     not exist, and then the bytes of all files
   */
  static String read(byte[] paths, byte[] lengths, int threads) throws Exception {
    String[] names = new String(paths, StandardCharsets.UTF_8).split("\0", -1);
    long[] listed = Bytes.longs(lengths);
    ExecutorService executor = Executors.newFixedThreadPool(Math.min(threads, names.length));
    try {
      List<Future<byte[]>> results = new ArrayList<>();
      for (int i = 0; i < names.length; i++) {
        results.add(executor.submit(new ListedFile(names[i], listed[i])));
      }
      return packed(results);
    } finally {
      executor.shutdownNow();
    }
  }

  private static String packed(List<Future<byte[]>> results) throws Exception {
    long[] counts = new long[results.size()];
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (int i = 0; i < counts.length; i++) {
      byte[] bytes = resultOf((Future<?>) results.get(i));
      counts[i] = bytes == null ? -1 : bytes.length;
      if (bytes != null) {
        content.write(bytes, 0, bytes.length);
      }
    }
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] head = Bytes.bytes(counts);
    all.write(head, 0, head.length);
    content.writeTo(all);
    return Bytes.text(all.toByteArray());
  }

  private static byte[] resultOf(Future<?> result) throws Exception {
    try {
      return (byte[]) result.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception) {
        throw (Exception) e.getCause();
      }
      throw e;
    }
  }

  /** Returns the bytes of the file, or null if it does not exist. */
  @Override
  public byte[] call() throws Exception {
    Path file = new Path(path);
    try {
      try {
        return FileContent.bytes(file, Long.valueOf(length));
      } catch (EOFException e) { // since the listing, a shorter file has taken the name
        return FileContent.bytes(file, null);
      }
    } catch (FileNotFoundException e) {
      return null;
    }
  }
}
