package io.xskip.protocol;

import io.xskip.common.PathHash;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Files in the binary form in which Python and the hook exchange them. A file's position in the
 * table is its ordinal. The table consists of these parts, all numbers little-endian:
 *
 * <ul>
 *   <li>int64: the number of files
 *   <li>int64: the length of the last part in bytes
 *   <li>int64 per file: its length, -1 if unknown
 *   <li>int64 per file: its modification time
 *   <li>int64 per file: its partition, a position in the last part
 *   <li>int32 per file and one more: where its path starts and the last path ends, in the next part
 *   <li>UTF-8: the paths, concatenated
 *   <li>UTF-8: the values of each distinct partition as a JSON array, separated by NUL
 * </ul>
 */
public final class FileTable {
  private static final int LENGTHS = 2 * Long.BYTES;

  private final int count;
  private final String[] partitionValues;
  private final byte[] bytes;
  private final ByteBuffer buffer;
  private final int times;
  private final int partitions;
  private final int starts;
  private final int paths;

  public FileTable(byte[] bytes) {
    this.bytes = bytes;
    buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    count = (int) buffer.getLong(0);
    times = LENGTHS + Long.BYTES * count;
    partitions = times + Long.BYTES * count;
    starts = partitions + Long.BYTES * count;
    paths = starts + Integer.BYTES * (count + 1);
    partitionValues =
        count == 0 ? new String[0] : lastPart((int) buffer.getLong(Long.BYTES)).split("\u0000", -1);
  }

  private String lastPart(int length) {
    return new String(bytes, bytes.length - length, length, StandardCharsets.UTF_8);
  }

  /** Returns the number of files. */
  public int count() {
    return count;
  }

  /** Returns the values of each distinct partition as a JSON array. */
  public String[] partitionValues() {
    return partitionValues;
  }

  /** Returns the length of a file, or -1 if it is unknown. */
  public long length(int i) {
    return buffer.getLong(LENGTHS + Long.BYTES * i);
  }

  /** Returns the modification time of a file in milliseconds. */
  public long time(int i) {
    return buffer.getLong(times + Long.BYTES * i);
  }

  /** Returns the partition of a file, a position in {@link #partitionValues}. */
  public int partition(int i) {
    return (int) buffer.getLong(partitions + Long.BYTES * i);
  }

  /** Returns the path of a file, without scheme and authority. */
  public String path(int i) {
    return new String(bytes, start(i), start(i + 1) - start(i), StandardCharsets.UTF_8);
  }

  /** Returns the hash of a file's path in UTF-8. */
  public long pathHash(int i, long seed) {
    return PathHash.of(bytes, start(i), start(i + 1) - start(i), seed);
  }

  private int start(int i) {
    return paths + buffer.getInt(starts + Integer.BYTES * i);
  }
}
