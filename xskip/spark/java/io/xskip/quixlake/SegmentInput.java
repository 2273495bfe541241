package io.xskip.quixlake;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;
import org.apache.avro.file.SeekableInput;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;

/**
 * The bytes of an Avro container, from a file that is the container, or from one in gzip, which
 * cannot be sought.
 */
final class SegmentInput implements SeekableInput {
  private static final int HEAD = 4;
  private static final byte[] MAGIC = {'O', 'b', 'j', 1};
  private static final int GZIP_BUFFER = 1 << 16;

  private final FSDataInputStream file;
  private final InputStream unzipped; // null if the file is not in gzip
  private final byte[] head; // of the container, which the constructor has read
  private long position = 0;

  SegmentInput(Path path, Configuration conf) throws IOException {
    file = path.getFileSystem(conf).open(path);
    try {
      byte[] first = head(file);
      boolean isGzip = first.length >= 2 && first[0] == 0x1f && first[1] == (byte) 0x8b;
      unzipped = isGzip ? unzip(first, file) : null;
      head = isGzip ? head(unzipped) : first;
      if (!Arrays.equals(head, MAGIC)) {
        throw new IOException(
            "it is not an Avro file: "
                + (isGzip ? "its content in gzip" : "it")
                + (head.length == 0 ? " is empty" : " begins with the bytes" + hex(head)));
      }
    } catch (Throwable t) {
      file.close();
      throw t;
    }
  }

  boolean isGzip() {
    return unzipped != null;
  }

  private static byte[] head(InputStream in) throws IOException {
    byte[] bytes = new byte[HEAD];
    int count = 0;
    while (count < HEAD) {
      int n = in.read(bytes, count, HEAD - count);
      if (n < 0) {
        return Arrays.copyOf(bytes, count);
      }
      count += n;
    }
    return bytes;
  }

  private static InputStream unzip(byte[] first, InputStream rest) throws IOException {
    InputStream all = new SequenceInputStream(new ByteArrayInputStream(first), rest);
    return new GZIPInputStream(new EndlessStream(all), GZIP_BUFFER);
  }

  private static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder();
    for (byte b : bytes) {
      text.append(String.format(" %02x", Byte.valueOf(b)));
    }
    return text.toString();
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    int count;
    if (position < head.length) {
      count = Math.min(length, head.length - (int) position);
      System.arraycopy(head, (int) position, bytes, offset, count);
    } else {
      count = readOn(bytes, offset, length);
    }
    if (count > 0) {
      position += count;
    }
    return count;
  }

  private int readOn(byte[] bytes, int offset, int length) throws IOException {
    try {
      if (unzipped != null) {
        return unzipped.read(bytes, offset, length);
      }
      if (file.getPos() != position) {
        file.seek(position);
      }
      return file.read(bytes, offset, length);
    } catch (EOFException e) { // Avro's reader would take it for the end of the container
      throw new IOException("it ends before its content does: " + e.getMessage(), e);
    }
  }

  @Override
  public void seek(long target) throws IOException {
    if (unzipped != null && target != position) {
      throw new IOException("a file in gzip cannot be read from byte " + target + " on");
    }
    position = target;
  }

  @Override
  public long tell() {
    return position;
  }

  @Override
  public long length() {
    return Long.MAX_VALUE; // Avro's reader finds the end by reading
  }

  @Override
  public void close() throws IOException {
    file.close();
  }

  /** A stream that always claims to have more bytes. */
  private static final class EndlessStream extends FilterInputStream {
    EndlessStream(InputStream in) {
      super(in);
    }

    @Override
    public int available() {
      // GZIPInputStream would take a stream without available bytes for the end, although a further
      // part of the file can follow.
      return 1;
    }
  }
}
