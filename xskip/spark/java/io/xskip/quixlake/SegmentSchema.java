package io.xskip.quixlake;

import org.apache.spark.sql.types.StructType;

/** The columns of segments. */
final class SegmentSchema {
  static final StructType COLUMNS =
      StructType.fromDDL(
          "timestamp BIGINT, key BINARY, "
              + "headers ARRAY<STRUCT<key: STRING, value: STRUCT<string: STRING, bytes: BINARY>>>, "
              + "value BINARY, partition BIGINT, offset BIGINT, time TIMESTAMP");

  private SegmentSchema() {}
}
