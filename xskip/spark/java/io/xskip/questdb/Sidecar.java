package io.xskip.questdb;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.parquet.hadoop.metadata.BlockMetaData;

/**
 * The file {@code _pm} beside a Parquet piece, for one size of the Parquet file. Rules: [QDB-PM].
 */
final class Sidecar {
  private static final long REQUIRED = 0xFFFFFFFFL << 32;
  private static final long KNOWN_OF_FOOTERS = 1L << 32; // a covering index, which reads do not use
  private static final int DESIGNATED = 1 << 17; // in the type code of the designated timestamp
  private static final int HEADER_BYTES = 32;
  private static final int COLUMN_BYTES = 32;
  private static final int FOOTER_BYTES = 40;
  private static final int CHUNK_BYTES = 64;
  private static final int MAX_FOOTERS = 100_000;
  private static final int HAS_BOUNDS = 1 | 2 | 8 | 16; // bounds are there, and within their slots

  private final ByteBuffer bytes;
  private final int footer;

  private Sidecar(ByteBuffer bytes, int footer) {
    this.bytes = bytes;
    this.footer = footer;
  }

  /**
   * Returns the sidecar of a piece, or null if it has none; fails if this release lacks a feature
   * that it requires.
   */
  static Sidecar of(Piece piece) {
    Path path = Paths.get(piece.folder).resolveSibling("_pm");
    try {
      byte[] bytes = TableFile.bytes(piece, path.toString());
      if (bytes != null) {
        return parsed(piece, path, ByteBuffer.wrap(bytes));
      }
      boolean isOpen = piece.openFiles != null && piece.openFiles.isOpen();
      if (!isOpen && !Files.exists(Paths.get(piece.folder))) { // a server has removed both files
        throw TableFile.missing(piece, path.toString());
      }
      return null; // servers before 9.4 write none
    } catch (Exception e) {
      throw TableFailure.unreadable(path.toString(), e);
    }
  }

  private static Sidecar parsed(Piece piece, Path path, ByteBuffer bytes) {
    bytes.order(ByteOrder.LITTLE_ENDIAN);
    long size = bytes.getLong(0);
    if (size < HEADER_BYTES + FOOTER_BYTES || size > bytes.limit()) {
      throw TableFailure.damaged(
          path.toString(), "it has " + bytes.limit() + " bytes, and should have " + size);
    }
    bytes.limit((int) size);
    demand(bytes.getLong(8) & REQUIRED, path);
    demandChecksum(bytes, path);
    int footer = footer(bytes, piece.parquetSize);
    if (footer < 0) {
      throw TableFailure.damaged(
          path.toString(), "it has no footer for " + piece.parquetSize + " bytes");
    }
    demand(bytes.getLong(footer + 32) & REQUIRED & ~KNOWN_OF_FOOTERS, path);
    return new Sidecar(bytes, footer);
  }

  /** Returns whether the row groups have the numbers of rows that the Parquet file names. */
  boolean hasRowsOf(List<BlockMetaData> groups) {
    boolean isSame = bytes.getInt(footer + 12) == groups.size();
    for (int i = 0; isSame && i < groups.size(); i++) {
      isSame = bytes.getLong(block(i)) == ((BlockMetaData) groups.get(i)).getRowCount();
    }
    return isSame;
  }

  private int block(int group) {
    return Math.toIntExact(
        (bytes.getInt(footer + FOOTER_BYTES + Integer.BYTES * group) & 0xFFFFFFFFL) << 3);
  }

  /**
   * Returns the position of a column in the file, or -1 if it is not there with QuestDB's type code
   * and Parquet's type.
   */
  int position(int writerIndex, int code, int parquetType) {
    int count = bytes.getInt(24);
    for (int i = 0; i < count; i++) {
      int place = HEADER_BYTES + COLUMN_BYTES * i;
      if (bytes.getInt(place + 8) == writerIndex) {
        boolean isSame =
            (bytes.getInt(place + 12) & ~DESIGNATED) == code
                && bytes.get(place + 28) == parquetType;
        return isSame ? i : -1;
      }
    }
    return -1;
  }

  /** Returns the bits of the least and the greatest value of a column, or null if not known. */
  long[] bounds(int group, int position, int width) {
    int chunk = block(group) + Long.BYTES + CHUNK_BYTES * position;
    boolean isKnown =
        (bytes.get(chunk + 2) & HAS_BOUNDS) == HAS_BOUNDS
            && (bytes.get(chunk + 3) & 0xFF) == (width | width << 4);
    return isKnown ? new long[] {bytes.getLong(chunk + 48), bytes.getLong(chunk + 56)} : null;
  }

  /** Fails unless the checksum before the last trailer is that of all bytes after the size. */
  private static void demandChecksum(ByteBuffer bytes, Path path) {
    int place = bytes.limit() - 2 * Integer.BYTES;
    CRC32 checksum = new CRC32();
    checksum.update(bytes.array(), Long.BYTES, place - Long.BYTES);
    if ((int) checksum.getValue() != bytes.getInt(place)) {
      throw TableFailure.damaged(path.toString(), "it has another checksum");
    }
  }

  private static void demand(long unknown, Path path) {
    if (unknown != 0) {
      throw TableFailure.damaged(
          path.toString(),
          "it requires features that this release does not know (bits "
              + Long.toHexString(unknown)
              + "); convert the partition to native");
    }
  }

  /** Returns the place of the footer for a size of the Parquet file, or -1. */
  private static int footer(ByteBuffer bytes, long parquetSize) {
    long end = bytes.limit();
    for (int i = 0; i < MAX_FOOTERS; i++) {
      int trailer = (int) end - Integer.BYTES;
      int place = trailer - bytes.getInt(trailer);
      if (place < HEADER_BYTES || place > trailer - FOOTER_BYTES) {
        return -1;
      }
      long size = bytes.getLong(place) + (bytes.getInt(place + 8) & 0xFFFFFFFFL) + 8;
      if (size == parquetSize) {
        return place;
      }
      long previous = bytes.getLong(place + 24);
      if (previous <= 0 || previous >= end) {
        return -1;
      }
      end = previous;
    }
    return -1;
  }
}
