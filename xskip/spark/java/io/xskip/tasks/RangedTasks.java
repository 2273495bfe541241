package io.xskip.tasks;

import io.xskip.common.Parallel;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.internal.SQLConf;

/** Lets the tasks of a scan read only the ranges of files. */
public final class RangedTasks {
  private static final int THREADS = 16;

  private RangedTasks() {}

  /** Lets the tasks of a scan read only the ranges of files, and shares these out to tasks anew. */
  public static void cut(RDD<?> scan, SQLConf conf) throws Exception {
    List<FilePartition> tasks = new ArrayList<>();
    for (Partition task : scan.partitions()) {
      if (!(task instanceof FilePartition)) {
        return;
      }
      tasks.add((FilePartition) task);
    }
    FilePartition[] cut = cut(tasks, conf);
    if (cut != null) {
      FileTasks.replace(scan, cut);
    }
  }

  /** Returns tasks that read only the ranges of the files of other tasks. */
  public static InputPartition[] cut(InputPartition[] tasks, SQLConf conf) throws Exception {
    List<FilePartition> files = new ArrayList<>();
    for (InputPartition task : tasks) {
      files.add((FilePartition) task);
    }
    FilePartition[] cut = cut(files, conf);
    return cut == null ? tasks : cut;
  }

  /** Returns such tasks, or null if all files are read whole. */
  private static FilePartition[] cut(List<FilePartition> tasks, SQLConf conf) throws Exception {
    Map<Path, PartitionedFile> ranged = new HashMap<>();
    for (FilePartition task : tasks) {
      for (PartitionedFile file : task.files()) {
        if (RangedFiles.isRanged(file)) {
          ranged.put(file.toPath(), file);
        }
      }
    }
    if (ranged.isEmpty()) {
      return null;
    }
    Map<Path, Boolean> present = present(ranged);
    List<PartitionedFile> ranges = new ArrayList<>();
    long longest = 0;
    for (FilePartition task : tasks) {
      for (PartitionedFile file : task.files()) {
        longest = Math.max(longest, file.length());
        if (Boolean.TRUE.equals(present.get(file.toPath()))) {
          RangedFiles.addRanges(file, ranges);
        } else {
          ranges.add(RangedFiles.whole(file));
        }
      }
    }
    return new TaskPacking(conf).pack(ranges, longest);
  }

  /**
   * Returns which files are those of the listing: Spark can have listed them long ago, and their
   * ranges are about the bytes that they had then.
   */
  private static Map<Path, Boolean> present(Map<Path, PartitionedFile> files) throws Exception {
    List<Callable<Boolean>> checks = new ArrayList<>();
    List<Path> paths = new ArrayList<>(files.keySet());
    for (Path path : paths) {
      checks.add(new Check(path, (PartitionedFile) files.get(path)));
    }
    List<Boolean> found = Parallel.results(checks, Math.min(THREADS, checks.size()));
    Map<Path, Boolean> present = new HashMap<>();
    for (int i = 0; i < paths.size(); i++) {
      present.put((Path) paths.get(i), (Boolean) found.get(i));
    }
    return present;
  }

  /** Compares a file with its listing. */
  private static final class Check implements Callable<Boolean> {
    private final Path path;
    private final PartitionedFile file;

    Check(Path path, PartitionedFile file) {
      this.path = path;
      this.file = file;
    }

    @Override
    public Boolean call() {
      try {
        Configuration hadoop = SparkCompat.hadoopConf();
        FileStatus status = path.getFileSystem(hadoop).getFileStatus(path);
        return Boolean.valueOf(
            status.getLen() == file.fileSize()
                && status.getModificationTime() == file.modificationTime());
      } catch (Exception e) { // the scan says what is wrong with the file
        return Boolean.FALSE;
      }
    }
  }
}
