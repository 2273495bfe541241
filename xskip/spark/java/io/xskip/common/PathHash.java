package io.xskip.common;

import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * The two hashes of a path that a snapshot keeps, as Spark's functions compute them: {@code
 * xxhash64(path)} and {@code xxhash64('xskip', path)}.
 */
public final class PathHash {
  public static final long SEED = 42L;
  public static final long SECOND_SEED = of(new byte[] {'x', 's', 'k', 'i', 'p'}, 0, 5, SEED);

  private PathHash() {}

  /** Returns Spark's {@code xxhash64} of a range of bytes. */
  public static long of(byte[] bytes, int start, int length, long seed) {
    return XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET + start, length, seed);
  }
}
