package io.xskip.questdb;

import java.io.Serializable;

/** A partition, or a piece of a split partition, in one transaction. Rules: [QDB-FI-4]. */
final class Piece implements Serializable {
  private static final long serialVersionUID = 1L;

  static final String PARQUET_FILE = "data.parquet";

  // a column top that no file has: all rows of the piece are older than the column
  static final long NO_FILES = Long.MAX_VALUE;

  final TableSnapshot snapshot;
  final String folder;
  final long timestamp;
  final long rows;
  final long nameTxn; // the transaction in the name of the folder, or -1
  final long parquetSize; // the committed size of data.parquet, or -1 for a native piece
  final long inode; // of the file that a squash changes
  final long modified; // its time of modification, or -1 if a later write could leave it as it is
  final long start; // the half-open bounds of the times; the extreme numbers if they are unknown
  final long end;
  final OpenPiece openFiles; // null if no files are open

  // of _cv for the piece: writer index, name transaction, column top
  private final long[] records;

  Piece(TableSnapshot snapshot, String folder, long[] fields, long[] records, OpenPiece openFiles) {
    this.snapshot = snapshot;
    this.folder = folder;
    this.timestamp = fields[0];
    this.rows = fields[1];
    this.nameTxn = fields[9];
    this.parquetSize = fields[2];
    this.inode = fields[3];
    this.modified = fields[4];
    this.start = fields[5];
    this.end = fields[6];
    this.records = records;
    this.openFiles = openFiles;
  }

  boolean isParquet() {
    return parquetSize >= 0;
  }

  /** Returns whether a later write into the piece changes its stamp. */
  boolean isStampSettled() {
    return modified >= 0;
  }

  /** Returns the number of rows at the start of the piece that are older than a column. */
  long top(TableColumn column) {
    int place = record(column);
    if (place >= 0) {
      return records[place + 2] < rows ? records[place + 2] : NO_FILES;
    }
    return snapshot.isAddedAfter(column, timestamp) ? NO_FILES : 0;
  }

  /** Returns the path of a file of a column that has files in the piece. */
  String path(TableColumn column, String extension) {
    int place = record(column);
    long txn = place < 0 ? -1 : records[place + 1];
    if (txn == -1) {
      txn = snapshot.defaultTxn(column);
    }
    String name = folder + "/" + column.name + "." + extension;
    return txn >= 0 ? name + "." + txn : name;
  }

  private int record(TableColumn column) {
    for (int i = 0; i < records.length; i += 3) {
      if (records[i] == column.writerIndex) {
        return i;
      }
    }
    return -1;
  }
}
