package io.xskip.quixlake;

import io.xskip.common.Bytes;
import io.xskip.common.SparkCompat;
import io.xskip.listing.IndexedFileIndex;
import io.xskip.protocol.FileTable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;

/** The relations of segments that Python has chosen. */
public final class SegmentRelations {
  /** A number that no snapshot has: the index of the lake is applied file by file, by name. */
  private static final long NO_SNAPSHOT = -1;

  /**
   * Returns the relation of segments.
   *
   * @param root the base of the lake, as a key of {@link io.xskip.common.Paths}
   * @param partitionColumns the partition columns in DDL
   * @param odd the names of segments whose Kafka partition is not that of their names, separated by
   *     NUL
   * @param partitions the Kafka partitions of these segments as int64
   * @param isDistinct whether each segment has each offset of a partition once
   */
  public HadoopFsRelation relation(
      Object session,
      FileTable files,
      String root,
      String partitionColumns,
      String odd,
      byte[] partitions,
      boolean isDistinct)
      throws Exception {
    StructType partitionSchema = SparkCompat.schema(session, partitionColumns);
    byte[] noneReplaced = new byte[files.count() / Byte.SIZE + 1];
    FileIndex index =
        new IndexedFileIndex(
            NO_SNAPSHOT, files, (FileIndex) null, root, root, noneReplaced, partitionSchema);
    return new HadoopFsRelation(
        index,
        partitionSchema,
        SegmentSchema.COLUMNS,
        Option.empty(),
        new SegmentFormat(byName(odd, Bytes.longs(partitions)), isDistinct),
        Map$.MODULE$.<String, String>empty(),
        (SparkSession) session);
  }

  private static Map<String, Long> byName(String names, long[] partitions) {
    Map<String, Long> byName = new HashMap<>();
    String[] split = names.split("\u0000", -1);
    for (int i = 0; i < partitions.length; i++) {
      byName.put(split[i], Long.valueOf(partitions[i]));
    }
    return byName;
  }
}
