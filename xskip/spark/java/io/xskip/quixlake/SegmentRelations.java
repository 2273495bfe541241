package io.xskip.quixlake;

import io.xskip.common.Bytes;
import io.xskip.listing.IndexedFileIndex;
import io.xskip.protocol.FileTable;
import io.xskip.shims.SparkCompat;
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
  // a number that no snapshot has: the index of the lake is applied file by file, by name
  private static final long NO_SNAPSHOT = -1;

  /**
   * Returns the relation of segments; {@code odd} are those whose Kafka partitions, as int64, are
   * not those of their names.
   */
  public HadoopFsRelation relation(
      Object session,
      FileTable files,
      String root, // the base of the lake, as a key of Paths
      String partitionColumns, // in DDL
      String odd, // separated by NUL
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
