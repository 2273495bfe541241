package io.xskip.questdb;

/** A binary search of times in the designated timestamp of a native piece. Rules: [QDB-RD-3]. */
final class TimeSearch {
  private final Piece piece;
  private final TableColumn timestamp;

  TimeSearch(Piece piece, TableColumn timestamp) {
    this.piece = piece;
    this.timestamp = timestamp;
  }

  /** Returns the first row that can be in a range of time, and the first row after it. */
  long[] rows(TimeRange times) {
    TimeRange range = times.overlapping(piece.start, piece.end);
    long[] rows = {0, piece.rows};
    if (range.covers(piece.start, piece.end) || piece.rows == 0) {
      return rows;
    }
    boolean hasStart = range.start > piece.start;
    boolean hasEnd = range.end < piece.end;
    if (piece.top(timestamp) != 0) {
      throw TableFailure.damaged(piece.folder, "it has no designated timestamp");
    }
    TableFile file = new TableFile(piece, piece.path(timestamp, "d"));
    try {
      rows[0] = hasStart ? firstFrom(file, range.start) : 0;
      rows[1] = hasEnd ? firstFrom(file, range.end) : piece.rows;
    } finally {
      file.close();
    }
    return rows;
  }

  private long firstFrom(TableFile file, long time) {
    long low = 0;
    long high = piece.rows;
    while (low < high) {
      long middle = (low + high) >>> 1;
      if (file.readLong(Long.BYTES * middle) < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
