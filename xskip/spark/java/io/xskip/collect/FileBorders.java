package io.xskip.collect;

import io.xskip.common.Bytes;
import io.xskip.tasks.FileTasks;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructType;

/** The starts of the parts of files, by which a build divides what its tasks read. */
final class FileBorders {
  private final Map<Integer, long[]> starts = new HashMap<>();
  private final StructType partitionSchema;

  /**
   * Reads borders.
   *
   * @param packed int64 numbers: for each file its ordinal, the number of its parts, and their
   *     starts in order, the first of which is 0
   * @param partitionSchema the partition columns of the subset, of which the last but one is the
   *     start of the part, and the last one the ordinal
   */
  FileBorders(byte[] packed, StructType partitionSchema) {
    this.partitionSchema = partitionSchema;
    long[] numbers = Bytes.longs(packed);
    int position = 0;
    while (position < numbers.length) {
      int count = (int) numbers[position + 1];
      long[] found = new long[count];
      System.arraycopy(numbers, position + 2, found, 0, count);
      starts.put(Integer.valueOf((int) numbers[position]), found);
      position += 2 + count;
    }
  }

  /** Lets the tasks of a scan read the parts of files one after the other. */
  void divide(RDD<?> scan) throws ReflectiveOperationException {
    Partition[] partitions = scan.partitions();
    FilePartition[] tasks = new FilePartition[partitions.length];
    for (int i = 0; i < tasks.length; i++) {
      List<PartitionedFile> files = new ArrayList<>();
      for (PartitionedFile file : ((FilePartition) partitions[i]).files()) {
        addParts(file, files);
      }
      tasks[i] = new FilePartition(i, (PartitionedFile[]) files.toArray(new PartitionedFile[0]));
    }
    FileTasks.replace(scan, tasks);
  }

  /** Adds the parts that begin in what a task reads of a file, each as a whole. */
  private void addParts(PartitionedFile file, List<PartitionedFile> parts) {
    InternalRow values = file.partitionValues();
    long[] found = (long[]) starts.get(Integer.valueOf(values.getInt(values.numFields() - 1)));
    if (found == null) {
      parts.add(file);
      return;
    }
    for (int i = 0; i < found.length; i++) {
      if (file.start() <= found[i] && found[i] < file.start() + file.length()) {
        long end = i + 1 < found.length ? found[i + 1] : file.fileSize();
        parts.add(
            FileTasks.range(
                file,
                found[i],
                end - found[i],
                ofPart(values, found[i]),
                file.otherConstantMetadataColumnValues()));
      }
    }
  }

  private InternalRow ofPart(InternalRow partition, long start) {
    Object[] values = new Object[partition.numFields()];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          partition.isNullAt(i) ? null : partition.get(i, partitionSchema.apply(i).dataType());
    }
    values[values.length - 2] = Long.valueOf(start);
    return new GenericInternalRow(values);
  }
}
