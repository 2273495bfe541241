package io.xskip.questdb;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;

/** One transaction of a table, as far as tasks need it. Rules: [QDB-SN]. */
final class TableSnapshot implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The folder of the table with its partitions, and the folder with the control files. */
  final String data;

  final String control;
  final long txn;
  final long partitionVersion;
  final long truncateVersion;
  final int tableId;

  /** Whether no server writes to the table. */
  final boolean isFrozen;

  final TableColumn[] columns;

  /** The column of the designated timestamp, or null. */
  final TableColumn timestamp;

  /** Three numbers per default record of {@code _cv}: writer index, name transaction, time. */
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

  /** Returns whether the control files are those of a checkpoint. */
  boolean isCheckpoint() {
    return !control.equals(data);
  }

  /** Returns the place of the default record of a column, or -1. */
  private int defaultOf(TableColumn column) {
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
