package io.xskip.tasks;

import java.lang.reflect.Field;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.collection.immutable.Map;

/** The files, or parts of files, that the tasks of a scan read. */
public final class FileTasks {
  private FileTasks() {}

  /**
   * Replaces what the tasks of a scan read. Nothing may have asked for the partitions of an RDD
   * that is made from the scan's.
   *
   * @throws ReflectiveOperationException if this Spark keeps its partitions in another way; then
   *     nothing has changed
   */
  public static void replace(RDD<?> scan, FilePartition[] tasks)
      throws ReflectiveOperationException {
    Field partitions = partitionsField();
    scan.partitions(); // a value that is set before the first call would be replaced by it
    partitions.set(scan, tasks);
  }

  /** Returns the only field of an RDD that has partitions: those that it has computed. */
  private static Field partitionsField() throws NoSuchFieldException {
    Field found = null;
    for (Field field : RDD.class.getDeclaredFields()) {
      if (field.getType() == Partition[].class) {
        if (found != null) {
          throw new NoSuchFieldException("RDD has two fields with partitions");
        }
        found = field;
      }
    }
    if (found == null) {
      throw new NoSuchFieldException("RDD has no field with partitions");
    }
    found.setAccessible(true);
    return found;
  }

  /** Returns a range of the bytes of a file, with other partition values and constant metadata. */
  public static PartitionedFile range(
      PartitionedFile file,
      long start,
      long length,
      InternalRow values,
      Map<String, Object> metadata) {
    return new PartitionedFile(
        values,
        file.filePath(),
        start,
        length,
        file.locations(),
        file.modificationTime(),
        file.fileSize(),
        metadata);
  }
}
