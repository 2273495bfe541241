package io.xskip.snapshot;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The objects of a snapshot as Python sends them, little-endian: their number and that of the last
 * part's bytes as int64; as int64 of each object its length (-1: unknown), its time, its partition;
 * as int32 where each path starts, and the end; the paths; the distinct partition values as JSON
 * arrays, parted by NUL.
 */
public class FileTable {
  public final int n;
  final byte[] bytes;
  public final String[] texts;
  private static final int LENGTHS = 16;
  private final ByteBuffer in;
  private final int starts, paths;

  public FileTable(byte[] bytes) {
    this.bytes = bytes;
    in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    n = (int) in.getLong(0);
    starts = LENGTHS + 24 * n;
    paths = starts + 4 * (n + 1);
    int last = (int) in.getLong(8);
    String packed = new String(bytes, bytes.length - last, last, StandardCharsets.UTF_8);
    texts = n == 0 ? new String[0] : packed.split("\u0000", -1);
  }

  public long length(int i) {
    return in.getLong(LENGTHS + 8 * i);
  }

  public long time(int i) {
    return in.getLong(LENGTHS + 8 * (n + i));
  }

  public int partition(int i) {
    return (int) in.getLong(LENGTHS + 8 * (2 * n + i));
  }

  int start(int i) {
    return paths + in.getInt(starts + 4 * i);
  }

  public String path(int i) {
    return new String(bytes, start(i), start(i + 1) - start(i), StandardCharsets.UTF_8);
  }
}
