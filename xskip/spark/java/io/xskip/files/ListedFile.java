package io.xskip.files;

import io.xskip.common.Bytes;
import io.xskip.common.Parallel;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.Path;

/** A small file of a listing, of which a thread reads all bytes. */
final class ListedFile implements Callable<byte[]> {
  private final String path;
  private final long length;

  private ListedFile(String path, long length) {
    this.path = path;
    this.length = length;
  }

  /** Reads files, whose paths NUL separates and whose lengths are int64, in several threads. */
  static String read(byte[] paths, byte[] lengths, int threads) throws Exception {
    String[] names = new String(paths, StandardCharsets.UTF_8).split("\0", -1);
    long[] listed = Bytes.longs(lengths);
    List<ListedFile> files = new ArrayList<>();
    for (int i = 0; i < names.length; i++) {
      files.add(new ListedFile(names[i], listed[i]));
    }
    return packed((List<byte[]>) Parallel.results(files, Math.min(threads, names.length)));
  }

  // int64: the number of bytes of each file, -1 for one that does not exist; the bytes of all files
  private static String packed(List<byte[]> results) {
    long[] counts = new long[results.size()];
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (int i = 0; i < counts.length; i++) {
      byte[] bytes = (byte[]) results.get(i);
      counts[i] = bytes == null ? -1 : bytes.length;
      if (bytes != null) {
        content.write(bytes, 0, bytes.length);
      }
    }
    byte[] head = Bytes.bytes(counts);
    ByteBuffer all = ByteBuffer.allocate(head.length + content.size());
    all.put(head).put(content.toByteArray());
    return Bytes.text(all.array());
  }

  @Override
  public byte[] call() throws Exception {
    return FileContent.read(new Path(path), Long.valueOf(length));
  }
}
