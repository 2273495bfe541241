package io.xskip.questdb;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;

/** The last transaction of a file {@code _txn}, as far as checks need it. Rules: [QDB-FI]. */
final class TransactionFile {
  private static final int HEADER_BYTES = 64;
  private static final int EVEN_OFFSET = 8;
  private static final int ODD_OFFSET = 32;
  private static final int SYMBOL_BYTES = 4;
  private static final int PIECE_BYTES = 8;
  private static final int LAST_ROWS = 8;
  private static final int PARTITION_VERSION = 56;
  private static final int TRUNCATE_VERSION = 72;
  private static final int SYMBOLS = 132;
  private static final int BYTES_OF_PIECE = 32;
  private static final int NAME_TXN = 16;
  private static final long ROWS_MASK = (1L << 44) - 1;
  private static final int ATTEMPTS = 1000;
  private static final int MOST_BYTES = 1 << 28;

  final long txn;
  private final ByteBuffer record; // null if only the number of the transaction was read
  private final int pieces; // their place in the record
  private final int end; // of the last piece

  private TransactionFile(long txn, ByteBuffer record, int pieces) {
    this.txn = txn;
    this.record = record;
    this.pieces = pieces;
    this.end = record == null ? 0 : record.remaining();
  }

  /** Returns the last transaction; its record is not read if its number is {@code known}. */
  static TransactionFile read(String path, long known) throws IOException {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      FileChannel file = open(path);
      try {
        TransactionFile read = read(file, known);
        if (read != null) {
          return read;
        }
      } finally {
        file.close();
      }
      Thread.yield();
    }
    throw new IOException("a server commits faster than " + path + " can be read");
  }

  /** Returns the transaction of an open file, or null if a server commits at this moment. */
  private static TransactionFile read(FileChannel file, long known) throws IOException {
    ByteBuffer header = read(file, 0, HEADER_BYTES);
    if (header.remaining() < HEADER_BYTES) {
      return null;
    }
    long version = header.getLong(0);
    if (version == known) {
      return new TransactionFile(version, null, 0);
    }
    int half = (version & 1) == 0 ? EVEN_OFFSET : ODD_OFFSET;
    int pieces = SYMBOLS + header.getInt(half + SYMBOL_BYTES) + Integer.BYTES;
    int length = pieces + header.getInt(half + PIECE_BYTES);
    if (pieces < SYMBOLS || length < pieces || length > MOST_BYTES) {
      return null;
    }
    ByteBuffer record = read(file, header.getInt(half), length);
    boolean isWhole =
        record.remaining() == length
            && record.getLong(0) == version
            && read(file, 0, Long.BYTES).getLong(0) == version;
    return isWhole ? new TransactionFile(version, record, pieces) : null;
  }

  long truncateVersion() {
    return record.getLong(TRUNCATE_VERSION);
  }

  long partitionVersion() {
    return record.getLong(PARTITION_VERSION);
  }

  /** Returns the rows that the folder of a piece has now, or -1 if there is no piece in it. */
  long rows(Piece piece) {
    for (int place = pieces; place + BYTES_OF_PIECE <= end; place += BYTES_OF_PIECE) {
      if (record.getLong(place) == piece.timestamp
          && record.getLong(place + NAME_TXN) == piece.nameTxn) {
        boolean isLast = place + BYTES_OF_PIECE == end;
        long rows = record.getLong(isLast ? LAST_ROWS : place + Long.BYTES);
        return isLast ? rows : rows & ROWS_MASK;
      }
    }
    return -1;
  }

  private static FileChannel open(String path) throws IOException {
    return FileChannel.open(Paths.get(path), StandardOpenOption.READ);
  }

  /** Returns the first bytes of a file, or all if the file is shorter. */
  static ByteBuffer head(String path, int length) throws IOException {
    FileChannel file = open(path);
    try {
      return read(file, 0, length);
    } finally {
      file.close();
    }
  }

  /** Returns bytes from a place on, or fewer if the file ends before. */
  private static ByteBuffer read(FileChannel file, int from, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    int place = Math.max(from, 0);
    while (bytes.hasRemaining()) {
      int count = file.read(bytes, place);
      if (count < 0) {
        break;
      }
      place += count;
    }
    bytes.flip();
    return bytes;
  }
}
