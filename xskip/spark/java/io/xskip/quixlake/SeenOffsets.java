package io.xskip.quixlake;

import java.util.HashMap;
import java.util.Map;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

/** The offsets of the messages that were read so far, by partition. Rules: [QLK-RD-5]. */
final class SeenOffsets {
  private final Map<Long, Offsets> partitions = new HashMap<>();

  /**
   * Adds the offset of a message, if it has one and a partition, and returns whether no message had
   * it before.
   */
  boolean add(Long partition, Long offset) {
    if (partition == null || offset == null) {
      return true;
    }
    Offsets offsets = (Offsets) partitions.get(partition);
    if (offsets == null) {
      offsets = new Offsets();
      partitions.put(partition, offsets);
    }
    return offsets.add(offset.longValue());
  }

  private static final class Offsets {
    private final Roaring64NavigableMap offsets = new Roaring64NavigableMap();
    private boolean isEmpty = true;
    private long greatest = 0;

    boolean add(long offset) {
      boolean isNew = isEmpty || offset > greatest || !offsets.contains(offset);
      if (isNew) {
        offsets.addLong(offset);
      }
      greatest = isEmpty ? offset : Math.max(greatest, offset);
      isEmpty = false;
      return isNew;
    }
  }
}
