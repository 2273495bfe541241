package io.xskip.questdb;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;

/** A column of a table. Python's {@code xskip.spark.questdb.description} sends its fields. */
final class TableColumn implements Serializable {
  private static final long serialVersionUID = 1L;

  final String name;

  /** The position in {@code _meta}. */
  final int writerIndex;

  /** The name of the column's kind, such as INT. */
  final String kind;

  /** The bytes of each value in a column file; 0 if they vary. */
  final int width;

  /** The bits of a GEOHASH, the dimensions of an ARRAY, or the ticks per second of a TIMESTAMP. */
  final int size;

  /** The precision and the scale of a DECIMAL. */
  final int precision;

  final int scale;

  /** The number at the end of the names of the symbol files, or -1. */
  final long symbolTxn;

  /** The number of symbols that the transaction has committed. */
  final int symbolCount;

  /** Whether native pieces have a bitmap index of the column. */
  final boolean isIndexed;

  /** The columns that changes of type have replaced, the last one first. */
  final TableColumn[] former;

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
