package io.xskip.questdb;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;

/** A column of a table. Python's {@code xskip.spark.questdb.description} sends its fields. */
final class TableColumn implements Serializable {
  private static final long serialVersionUID = 1L;

  final String name;
  final int writerIndex; // the position in _meta
  final String kind; // a name such as INT
  final int width; // the bytes of each value in a column file; 0 if they vary
  final int size; // bits of a GEOHASH, dimensions of an ARRAY, ticks per second of a TIMESTAMP
  final int precision; // of a DECIMAL
  final int scale;
  final long symbolTxn; // the number at the end of the names of the symbol files, or -1
  final int symbolCount; // that the transaction has committed
  final boolean isIndexed; // whether native pieces have a bitmap index of the column
  final TableColumn[] former; // those that changes of type have replaced, the last one first

  TableColumn(JsonNode fields) {
    name = fields.get("name").asText();
    writerIndex = fields.get("writer").asInt();
    kind = fields.get("kind").asText();
    width = fields.get("width").asInt();
    size = fields.get("size").asInt();
    precision = fields.get("precision").asInt();
    scale = fields.get("scale").asInt();
    symbolTxn = fields.get("symbolTxn").asLong();
    symbolCount = fields.get("symbolCount").asInt();
    isIndexed = fields.get("indexed").asBoolean();
    JsonNode replaced = fields.get("former");
    former = new TableColumn[replaced.size()];
    for (int i = 0; i < former.length; i++) {
      former[i] = new TableColumn((JsonNode) replaced.get(i));
    }
  }

  /** Returns whether the column has no null, so that rows before the column are zero. */
  boolean isNeverNull() {
    return kind.equals("BOOLEAN") || kind.equals("BYTE") || kind.equals("SHORT");
  }
}
