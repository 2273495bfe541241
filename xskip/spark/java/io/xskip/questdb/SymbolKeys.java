package io.xskip.questdb;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The keys of a SYMBOL column in native pieces that the driver has read: 0 for null, {@code key +
 * 1} for a key.
 */
final class SymbolKeys {
  private static final int CHUNK_ROWS = 1 << 18;
  private static final long MAX_CACHED_BITS = 1L << 28;
  private static final int INITIAL_PIECES = 1024;
  private static final float LOAD_FACTOR = 0.75f;

  // by the identity of a piece and its column, the last used ones at the end
  private static final Map<String, BitSet> KNOWN =
      new LinkedHashMap<>(INITIAL_PIECES, LOAD_FACTOR, true);

  private static long cachedBits = 0;

  private SymbolKeys() {}

  /**
   * Returns the keys in a piece, by what identifies its rows and the column, if they are known, or
   * null.
   */
  static BitSet known(String identity) {
    synchronized (KNOWN) {
      return (BitSet) KNOWN.get(identity);
    }
  }

  /** Keeps the keys of a whole piece. */
  static void keep(String identity, BitSet keys) {
    synchronized (KNOWN) {
      if (KNOWN.put(identity, keys) == null) {
        cachedBits += keys.size();
      }
      while (cachedBits > MAX_CACHED_BITS && KNOWN.size() > 1) {
        BitSet oldest = (BitSet) KNOWN.remove(KNOWN.keySet().iterator().next());
        cachedBits -= oldest.size();
      }
    }
  }

  /**
   * Reads the keys from a first row to one after the range, and checks that they are of the
   * transaction.
   */
  static BitSet read(Piece piece, TableColumn column, long[] rows) {
    long[] words = new long[(column.symbolCount >>> 6) + 1];
    long top = Math.min(piece.top(column), piece.rows);
    if (rows[0] < Math.min(top, rows[1])) {
      words[0] = 1;
    }
    long first = Math.max(rows[0], top);
    if (first < rows[1]) {
      TableFile file = new TableFile(piece, piece.path(column, "d"));
      try {
        for (long row = first; row < rows[1]; row += CHUNK_ROWS) {
          int count = (int) Math.min(rows[1] - row, CHUNK_ROWS);
          byte[] bytes = new byte[count * Integer.BYTES];
          file.read((row - top) * Integer.BYTES, bytes, bytes.length);
          add(bytes, words, column.symbolCount, file.path());
        }
      } finally {
        file.close();
      }
    }
    new SnapshotCheck(piece).demandUnchanged();
    return BitSet.valueOf(words);
  }

  private static void add(byte[] bytes, long[] words, int symbols, String path) {
    int[] keys = new int[bytes.length / Integer.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(keys);
    for (int key : keys) {
      if (key >= symbols || (key < 0 && key != Integer.MIN_VALUE)) {
        throw TableFailure.damaged(path, "it has the key " + key + " of " + symbols + " symbols");
      }
      int place = key < 0 ? 0 : key + 1;
      words[place >>> 6] |= 1L << place;
    }
  }
}
