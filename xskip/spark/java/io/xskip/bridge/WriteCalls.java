package io.xskip.bridge;

import io.xskip.write.IndexedWrite;
import java.util.function.Function;

/** The methods for the statistics of writes. */
public final class WriteCalls {
  /** Sets the function in Python that plans and commits statistics [JVM-WR-1]. */
  public void setCallback(Function<String, byte[]> callback) {
    IndexedWrite.setCallback(callback);
  }

  /** Returns the write of a request that Python answers. */
  public IndexedWrite write(long id) {
    return IndexedWrite.of(id);
  }
}
