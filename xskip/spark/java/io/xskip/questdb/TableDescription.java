package io.xskip.questdb;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * A transaction of a table with all its pieces, in the form in which Python sends it. The form
 * consists of these parts, all numbers little-endian:
 *
 * <ul>
 *   <li>the letter T
 *   <li>int32 and UTF-8: the length of a JSON object, and the object
 *   <li>{@link #FIELDS} times int64 per piece
 *   <li>int64 per piece and one more: the place of its first record of {@code _cv}
 *   <li>three times int64 per record
 *   <li>UTF-8: the folders of the pieces, separated by NUL
 * </ul>
 */
final class TableDescription {
  /**
   * The numbers per piece: time, rows, size of a Parquet file, inode, time of modification, start,
   * end, bytes, digest and the transaction in the name of the folder.
   */
  private static final int FIELDS = 10;

  private static final int START = 5;
  private static final int END = 6;
  private static final int BYTES = 7;
  private static final int DIGEST = 8;

  final TableSnapshot snapshot;

  /** What Python compares to tell whether a transaction is this one. */
  final String fingerprint;

  final StructType schema;

  /** The directory of the table's index, or an empty text if the folder of the table has it. */
  final String indexDirectory;

  /** The files of the cold tier, or null. */
  final ColdFiles cold;

  private final int count;
  private final long[] fields;
  private final long[] firstRecords;
  private final long[] records;
  private final String[] folders;

  TableDescription(byte[] bytes) throws Exception {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    buffer.get(); // the mark of a description
    byte[] text = new byte[buffer.getInt()];
    buffer.get(text);
    JsonNode header = new ObjectMapper().readTree(new String(text, StandardCharsets.UTF_8));
    snapshot = new TableSnapshot(header);
    fingerprint = header.get("fingerprint").asText();
    schema = (StructType) DataType.fromJson(header.get("schema").asText());
    indexDirectory = header.get("indexDirectory").asText();
    cold = header.has("cold") ? new ColdFiles(header.get("cold")) : null;
    count = header.get("pieces").asInt();
    fields = longs(buffer, FIELDS * count);
    firstRecords = longs(buffer, count + 1);
    records = longs(buffer, 3 * (int) firstRecords[count]);
    byte[] names = new byte[buffer.remaining()];
    buffer.get(names);
    folders = new String(names, StandardCharsets.UTF_8).split("\u0000", -1);
  }

  private static long[] longs(ByteBuffer buffer, int count) {
    long[] values = new long[count];
    buffer.asLongBuffer().get(values);
    buffer.position(buffer.position() + count * Long.BYTES);
    return values;
  }

  int count() {
    return count;
  }

  /** Returns the least time that a piece can hold. */
  long start(int i) {
    return fields[FIELDS * i + START];
  }

  /** Returns a time that is greater than all times of a piece, or the greatest number. */
  long end(int i) {
    return fields[FIELDS * i + END];
  }

  /** Returns the approximate size of a piece in bytes, at least 1. */
  long bytes(int i) {
    return fields[FIELDS * i + BYTES];
  }

  /** Returns a digest of the key of a piece, which differs if the rows can differ. */
  long digest(int i) {
    return fields[FIELDS * i + DIGEST];
  }

  String folder(int i) {
    return folders[i];
  }

  String[] folders() {
    return folders;
  }

  Piece piece(int i) {
    return piece(i, (OpenFiles) null);
  }

  /**
   * Returns a piece.
   *
   * @param openFiles the files of the transaction that are open, or null
   */
  Piece piece(int i, OpenFiles openFiles) {
    long[] own = new long[FIELDS];
    System.arraycopy(fields, FIELDS * i, own, 0, FIELDS);
    int first = 3 * (int) firstRecords[i];
    long[] versions = new long[3 * (int) firstRecords[i + 1] - first];
    System.arraycopy(records, first, versions, 0, versions.length);
    OpenPiece open = openFiles == null ? null : openFiles.piece(i);
    return new Piece(snapshot, folders[i], own, versions, open);
  }
}
