package io.xskip.files;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;

/** A range of a local file as a stream that can always go back to its mark. */
public final class FileRange extends InputStream {
  private final RandomAccessFile file;
  private final long end;
  private long marked;

  /** Opens a file; the range must lie within it. */
  public FileRange(File path, long start, long length) throws IOException {
    file = new RandomAccessFile(path, "r");
    end = start + length;
    marked = start;
    file.seek(start);
  }

  @Override
  public int read() throws IOException {
    return file.getFilePointer() < end ? file.read() : -1;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    long left = end - file.getFilePointer();
    if (length == 0) {
      return 0;
    }
    return left <= 0 ? -1 : file.read(bytes, offset, (int) Math.min(length, left));
  }

  @Override
  public int available() throws IOException {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(0, end - file.getFilePointer()));
  }

  @Override
  public boolean markSupported() {
    return true;
  }

  @Override
  public synchronized void mark(int limit) {
    try {
      marked = file.getFilePointer();
    } catch (IOException e) { // the file is closed, so that reset fails
      marked = end;
    }
  }

  @Override
  public synchronized void reset() throws IOException {
    file.seek(marked);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
