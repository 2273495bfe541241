package io.xskip.tasks;

import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;

/**
 * Shares ranges of files out to tasks as Spark shares out files, by its settings. The ranges of a
 * file stay in their order, over all tasks.
 */
final class TaskPacking {
  private static final String PARALLELISM = "spark.sql.leafNodeDefaultParallelism";

  /** Bytes below which a range is not split, unless Spark has split files into less. */
  private static final long LEAST_SPLIT = 1L << 20;

  private static final Comparator<Object> LARGEST_FIRST =
      new Comparator<Object>() {
        @Override
        public int compare(Object one, Object other) {
          return Long.compare(bytes((List<?>) other), bytes((List<?>) one));
        }
      };

  private final SQLConf conf;
  private final long openCost;

  TaskPacking(SQLConf conf) {
    this.conf = conf;
    openCost = conf.filesOpenCostInBytes();
  }

  /**
   * Returns tasks for ranges of files.
   *
   * @param ranges the ranges, those of a file in their order
   * @param longest the bytes of the longest piece of a file in Spark's own tasks
   */
  FilePartition[] pack(List<PartitionedFile> ranges, long longest) {
    long total = 0;
    for (PartitionedFile range : ranges) {
      total += range.length() + openCost;
    }
    long perTask = total / Math.max(1, leastTasks());
    long most = Math.min(conf.filesMaxPartitionBytes(), Math.max(openCost, perTask));
    most = Math.max(most, Math.min(longest, LEAST_SPLIT));
    List<PartitionedFile> pieces = new ArrayList<>();
    for (List<PartitionedFile> file : byFile(ranges)) {
      for (PartitionedFile range : file) {
        split(range, most, pieces);
      }
    }
    FilePartition[] tasks = tasks(pieces, most);
    Option<?> limit = conf.filesMaxPartitionNum();
    if (limit.isEmpty() || tasks.length <= ((Number) limit.get()).intValue()) {
      return tasks;
    }
    int count = ((Number) limit.get()).intValue();
    long split = bytes(pieces) + openCost * pieces.size();
    return tasks(pieces, Math.max(most, (split + count - 1) / count));
  }

  /** Returns the ranges of each file, the files with the most bytes first. */
  private static List<List<PartitionedFile>> byFile(List<PartitionedFile> ranges) {
    Map<Object, List<PartitionedFile>> files = new LinkedHashMap<>();
    for (PartitionedFile range : ranges) {
      List<PartitionedFile> file = (List<PartitionedFile>) files.get(range.filePath());
      if (file == null) {
        file = new ArrayList<>();
        files.put(range.filePath(), file);
      }
      file.add(range);
    }
    List<List<PartitionedFile>> sorted = new ArrayList<>(files.values());
    Collections.sort(sorted, LARGEST_FIRST);
    return sorted;
  }

  private static long bytes(List<?> ranges) {
    long bytes = 0;
    for (Object range : ranges) {
      bytes += ((PartitionedFile) range).length();
    }
    return bytes;
  }

  /** Returns the number of tasks that Spark uses at least for enough data. */
  private int leastTasks() {
    Option<?> least = conf.filesMinPartitionNum();
    if (!least.isEmpty()) {
      return ((Number) least.get()).intValue();
    }
    return conf.contains(PARALLELISM)
        ? Integer.parseInt(conf.getConfString(PARALLELISM))
        : SparkCompat.context().defaultParallelism();
  }

  /** Splits a range. Spark has split a file that it reads whole. */
  private static void split(PartitionedFile range, long most, List<PartitionedFile> pieces) {
    if (!RangedFiles.isRanged(range)) {
      pieces.add(range);
      return;
    }
    for (long start = 0; start < range.length(); start += most) {
      long length = Math.min(most, range.length() - start);
      pieces.add(RangedFiles.piece(range, range.start() + start, length));
    }
  }

  private FilePartition[] tasks(List<PartitionedFile> pieces, long most) {
    List<FilePartition> tasks = new ArrayList<>();
    List<PartitionedFile> task = new ArrayList<>();
    long size = 0;
    for (PartitionedFile piece : pieces) {
      if (size + piece.length() > most && !task.isEmpty()) {
        tasks.add(task(tasks.size(), task));
        task.clear();
        size = 0;
      }
      size += piece.length() + openCost;
      task.add(piece);
    }
    if (!task.isEmpty()) {
      tasks.add(task(tasks.size(), task));
    }
    return (FilePartition[]) tasks.toArray(new FilePartition[0]);
  }

  private static FilePartition task(int index, List<PartitionedFile> files) {
    return new FilePartition(index, (PartitionedFile[]) files.toArray(new PartitionedFile[0]));
  }
}
