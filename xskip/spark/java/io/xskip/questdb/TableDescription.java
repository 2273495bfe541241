package io.xskip.questdb;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** A transaction of a table with all its pieces, in the form in which Python sends it. */
final class TableDescription {
  // the numbers per piece: time, rows, size of a Parquet file, inode, time of modification, start,
  // end, bytes, digest and the transaction in the name of the folder
  private static final int FIELDS = 10;

  private static final int START = 5;
  private static final int END = 6;
  private static final int BYTES = 7;
  private static final int DIGEST = 8;

  final TableSnapshot snapshot;
  final String fingerprint; // what Python compares to tell whether a transaction is this one
  final StructType schema;
  final String indexDirectory; // an empty text if the folder of the table has the index
  final ColdFiles cold; // the files of the cold tier, or null

  private final int count;
  private final long[] fields;
  private final long[] firstRecords;
  private final long[] records;
  private final String[] folders;

  TableDescription(byte[] bytes) throws Exception {
    // The letter T; the length of a JSON object as int32, and the object in UTF-8; the numbers per
    // piece, the place of the first record of _cv per piece and one more, and three numbers per
    // record, all as int64; the folders of the pieces in UTF-8, separated by NUL.
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    buffer.get();
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

  long start(int i) { // the least time that a piece can hold
    return fields[FIELDS * i + START];
  }

  long end(int i) { // a time after all times of a piece, or the greatest number
    return fields[FIELDS * i + END];
  }

  long bytes(int i) { // the approximate size of a piece, at least 1
    return fields[FIELDS * i + BYTES];
  }

  long digest(int i) { // of the key of a piece, which differs if the rows can differ
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

  /** Returns a piece; the open files of the transaction can be null. */
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
