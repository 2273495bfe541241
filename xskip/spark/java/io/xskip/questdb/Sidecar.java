package io.xskip.questdb;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.zip.CRC32;

/** The file {@code _pm} beside a Parquet piece. Rules: [QDB-PM]. */
final class Sidecar {
  private static final long REQUIRED = 0xFFFFFFFFL << 32;

  /** A covering index, which reads do not use. */
  private static final long KNOWN_OF_FOOTERS = 1L << 32;

  private static final int HEADER_BYTES = 32;
  private static final int FOOTER_BYTES = 40;
  private static final int MAX_FOOTERS = 100_000;

  private Sidecar() {}

  /** Fails if the sidecar of a piece requires a feature that this release does not know. */
  static void demandKnown(Piece piece) {
    Path path = Paths.get(piece.folder).resolveSibling("_pm");
    try {
      demandKnown(piece, path, ByteBuffer.wrap(Files.readAllBytes(path)));
    } catch (NoSuchFileException e) {
      return; // servers before 9.4 write none
    } catch (Exception e) {
      throw TableFailure.unreadable(path.toString(), e);
    }
  }

  private static void demandKnown(Piece piece, Path path, ByteBuffer bytes) {
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
