package io.xskip.protocol;

import io.xskip.common.Bytes;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Writes files in the form that {@link FileTable} reads. */
public final class FileTableWriter {
  /** The length for which a buffer reserves space per path. */
  private static final int TYPICAL_PATH_LENGTH = 64;

  private final int count;
  private final ByteBuffer numbers;
  private final ByteBuffer starts;
  private final ByteArrayOutputStream paths;
  private final ByteArrayOutputStream partitions = new ByteArrayOutputStream();
  private int added = 0;

  public FileTableWriter(int count) {
    this.count = count;
    numbers = allocate((2 + 3 * count) * Long.BYTES);
    starts = allocate((count + 1) * Integer.BYTES);
    paths = new ByteArrayOutputStream(TYPICAL_PATH_LENGTH * count);
  }

  private static ByteBuffer allocate(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Adds a file with its length, its modification time in milliseconds and its partition. */
  public void add(long length, long time, int partition, String path) {
    numbers.putLong((2 + added) * Long.BYTES, length);
    numbers.putLong((2 + count + added) * Long.BYTES, time);
    numbers.putLong((2 + 2 * count + added) * Long.BYTES, partition);
    byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
    paths.write(bytes, 0, bytes.length);
    added++;
    starts.putInt(added * Integer.BYTES, paths.size());
  }

  /** Adds the values of the next partition, a JSON array. */
  public void addPartition(String values) {
    if (partitions.size() > 0) {
      partitions.write(0);
    }
    byte[] bytes = values.getBytes(StandardCharsets.UTF_8);
    partitions.write(bytes, 0, bytes.length);
  }

  /** Returns the table in base 64. */
  public String text() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream(size());
    writeTo(out);
    return Bytes.text(out.toByteArray());
  }

  private int size() {
    return numbers.capacity() + starts.capacity() + paths.size() + partitions.size();
  }

  /** Writes the table to a local file, which takes less time than base 64. */
  public void writeTo(String file) throws IOException {
    FileOutputStream out = new FileOutputStream(file);
    try {
      writeTo(out);
    } finally {
      out.close();
    }
  }

  private void writeTo(OutputStream out) throws IOException {
    numbers.putLong(0, count);
    numbers.putLong(Long.BYTES, partitions.size());
    out.write(numbers.array());
    out.write(starts.array());
    paths.writeTo(out);
    partitions.writeTo(out);
  }
}
