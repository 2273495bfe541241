package io.xskip.questdb;

import io.xskip.common.Bytes;
import java.io.IOException;
import java.io.InputStream;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.SeekableInputStream;

/**
 * A Parquet file up to the size that a transaction names: a server appends to the file. Rules:
 * [QDB-PQ-2].
 */
final class CutFile implements InputFile {
  private final TableFile file;
  private final long size;

  CutFile(TableFile file, long size) {
    this.file = file;
    this.size = size;
  }

  @Override
  public long getLength() {
    return size;
  }

  @Override
  public SeekableInputStream newStream() {
    return new Stream(new Bytes(file, size));
  }

  private static final class Stream extends DelegatingSeekableInputStream {
    private final Bytes bytes;

    Stream(Bytes bytes) {
      super(bytes);
      this.bytes = bytes;
    }

    @Override
    public long getPos() {
      return bytes.place;
    }

    @Override
    public void seek(long place) {
      bytes.place = place;
    }
  }

  private static final class Bytes extends InputStream {
    private final TableFile file;
    private final long size;
    private long place = 0;

    Bytes(TableFile file, long size) {
      this.file = file;
      this.size = size;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] into, int at, int length) throws IOException {
      int count = (int) Math.min(length, size - place);
      if (count <= 0) {
        return length == 0 ? 0 : -1;
      }
      file.read(place, into, at, count);
      place += count;
      return count;
    }
  }
}
