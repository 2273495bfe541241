package io.xskip.collect;

import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Reads the Parquet footer of one file: the end from the footer's metadata on. */
final class FooterTask implements Callable<byte[]> {
  private static final int FIRST_READ = 1 << 16; // bytes; most footers are shorter
  private static final int MAX_FOOTER = 1 << 28;
  private static final int MIN_FILE = 12; // the magic bytes twice, and a length

  // the length of the metadata as int, and PAR1, or PARE if the footer is encrypted
  private static final int TRAILER = 8;

  private static final byte[] NONE = new byte[0];

  private final String path;

  FooterTask(String path) {
    this.path = path;
  }

  @Override
  public byte[] call() throws Exception {
    Path file = new Path(path);
    FileSystem fileSystem = file.getFileSystem(SparkCompat.hadoopConf());
    long size = fileSystem.getFileStatus(file).getLen();
    if (size < MIN_FILE) {
      return NONE;
    }
    FSDataInputStream in = fileSystem.open(file);
    try {
      return footer(in, size);
    } finally {
      in.close();
    }
  }

  private static byte[] footer(FSDataInputStream in, long size) throws IOException {
    byte[] tail = new byte[(int) Math.min(size, FIRST_READ)];
    in.readFully(size - tail.length, tail);
    long length = footerLength(tail);
    if (length < TRAILER || length > size || length > MAX_FOOTER) {
      return NONE;
    }
    byte[] footer = new byte[(int) length];
    if (length <= tail.length) {
      System.arraycopy(tail, tail.length - footer.length, footer, 0, footer.length);
    } else {
      in.readFully(size - length, footer);
    }
    return footer;
  }

  /** Returns the length of the footer with its trailer, or 0 if it has not the magic bytes. */
  private static long footerLength(byte[] tail) {
    int end = tail.length;
    boolean isPlaintext =
        tail[end - 4] == 'P'
            && tail[end - 3] == 'A'
            && tail[end - 2] == 'R'
            && tail[end - 1] == '1';
    if (!isPlaintext) {
      return 0;
    }
    ByteBuffer trailer = ByteBuffer.wrap(tail, end - TRAILER, 4).order(ByteOrder.LITTLE_ENDIAN);
    return (long) trailer.getInt() + TRAILER;
  }
}
