package io.xskip.questdb;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;

/** One transaction of a table, as far as tasks need it. Rules: [QDB-SN]. */
final class TableSnapshot implements Serializable {
  private static final long serialVersionUID = 1L;

  final String data; // the folder of the table with its partitions
  final String control; // the folder with the control files; of a checkpoint it is another one
  final long txn;
  final long partitionVersion;
  final long truncateVersion;
  final int tableId;
  final boolean isFrozen; // whether no server writes to the table
  final TableColumn[] columns;
  final TableColumn timestamp; // the designated one, or null

  // per default record of _cv: writer index, name transaction, time
  private final long[] defaults;

  TableSnapshot(JsonNode fields) {
    data = fields.get("data").asText();
    control = fields.get("control").asText();
    txn = fields.get("txn").asLong();
    partitionVersion = fields.get("partitionVersion").asLong();
    truncateVersion = fields.get("truncateVersion").asLong();
    tableId = fields.get("tableId").asInt();
    isFrozen = fields.get("frozen").asBoolean();
    JsonNode all = fields.get("columns");
    columns = new TableColumn[all.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = new TableColumn((JsonNode) all.get(i));
    }
    timestamp = fields.get("timestamp").isNull() ? null : column(fields.get("timestamp").asText());
    JsonNode numbers = fields.get("defaults");
    defaults = new long[numbers.size()];
    for (int i = 0; i < defaults.length; i++) {
      defaults[i] = ((JsonNode) numbers.get(i)).asLong();
    }
  }

  /** Returns the column with a name, or null. */
  TableColumn column(String name) {
    for (TableColumn column : columns) {
      if (column.name.equals(name)) {
        return column;
      }
    }
    return null;
  }

  boolean isCheckpoint() {
    return !control.equals(data);
  }

  private int defaultOf(TableColumn column) { // the place of the record, or -1
    for (int i = 0; i < defaults.length; i += 3) {
      if (defaults[i] == column.writerIndex) {
        return i;
      }
    }
    return -1;
  }

  /** Returns the transaction in the names of a column's files by default, or -1. */
  long defaultTxn(TableColumn column) {
    int place = defaultOf(column);
    return place < 0 ? -1 : defaults[place + 1];
  }

  /** Returns whether a column was added after the partition of a time. */
  boolean isAddedAfter(TableColumn column, long time) {
    int place = defaultOf(column);
    return place >= 0 && defaults[place + 2] > time;
  }
}
