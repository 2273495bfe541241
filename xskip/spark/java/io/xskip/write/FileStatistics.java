package io.xskip.write;

import io.xskip.collect.RunStatistics;
import io.xskip.common.Failures;
import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.datasources.BasicWriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import scala.collection.immutable.Seq;

/**
 * The statistics of the files of a task, beside Spark's own: an error here leaves the files of the
 * task without statistics, and never fails the task.
 *
 * <p>The results travel among the partition values in Spark's statistics, so that the driver gets
 * those of committed attempts only.
 */
final class FileStatistics implements WriteTaskStatsTracker {
  /** The first value in a row of results; partition values have no such object. */
  private static final String MARK = "io.xskip.write";

  private static final int PREFIX = 2; // the mark and the path

  private final WriteTaskStatsTracker delegate;
  private final StatisticsPlan plan;
  private final Map<String, RunStatistics> open = new HashMap<>();
  private final List<InternalRow> results = new ArrayList<>();
  private UnsafeProjection projection = null;
  private boolean isProjected = false; // whether the projection is known
  private boolean hasFailed = false;
  private String path = null; // of the latest row
  private RunStatistics file = null;

  FileStatistics(WriteTaskStatsTracker delegate, StatisticsPlan plan) {
    this.delegate = delegate;
    this.plan = plan;
  }

  @Override
  public void newPartition(InternalRow partitionValues) {
    delegate.newPartition(partitionValues);
  }

  @Override
  public void newFile(String filePath) {
    delegate.newFile(filePath);
    if (hasFailed) {
      return;
    }
    try {
      if (!isProjected) {
        projection = plan.newProjection();
        isProjected = true;
      }
      open.put(filePath, plan.newStatistics());
    } catch (Throwable t) {
      fail(t);
    }
  }

  @Override
  public void newRow(String filePath, InternalRow row) {
    delegate.newRow(filePath, row);
    if (hasFailed) {
      return;
    }
    try {
      if (filePath != path) { // writers pass the same object for all rows of a file
        file = (RunStatistics) open.get(filePath);
        path = filePath;
      }
      file.addRow(projection == null ? row : (InternalRow) projection.apply(row));
    } catch (Throwable t) {
      fail(t);
    }
  }

  @Override
  public void closeFile(String filePath) {
    delegate.closeFile(filePath);
    if (hasFailed) {
      return;
    }
    try {
      RunStatistics closed = (RunStatistics) open.remove(filePath);
      path = null;
      file = null;
      results.add(result(filePath, closed));
    } catch (Throwable t) {
      fail(t);
    }
  }

  /** Returns the results of a file; those of a file without rows are only its path. */
  private static InternalRow result(String filePath, RunStatistics closed) {
    Object[] values = new Object[closed.hasRows() ? PREFIX + closed.width() + 1 : PREFIX];
    values[0] = MARK;
    values[1] = filePath;
    if (closed.hasRows()) {
      values[closed.emit(values, PREFIX, true)] = closed.counts();
    }
    return new GenericInternalRow(values);
  }

  private void fail(Throwable error) {
    hasFailed = true;
    open.clear();
    results.clear();
    file = null;
    Failures.logDebug("the statistics of written files", error);
  }

  @Override
  public WriteTaskStats getFinalStats(long taskCommitTime) {
    WriteTaskStats stats = delegate.getFinalStats(taskCommitTime);
    try {
      BasicWriteTaskStats basic = (BasicWriteTaskStats) stats;
      List<InternalRow> rows = Scala.list(basic.partitions());
      rows.addAll(results);
      return results.isEmpty() ? stats : copy(basic, rows);
    } catch (Throwable t) {
      fail(t);
      return stats;
    }
  }

  private static BasicWriteTaskStats copy(BasicWriteTaskStats stats, List<InternalRow> partitions) {
    Seq<InternalRow> rows = (Seq<InternalRow>) Scala.seq(partitions);
    return new BasicWriteTaskStats(rows, stats.numFiles(), stats.numBytes(), stats.numRows());
  }

  /** Moves the results in the statistics of a task to a list, and returns Spark's own. */
  static BasicWriteTaskStats removeResults(BasicWriteTaskStats stats, List<InternalRow> results) {
    List<InternalRow> partitions = new ArrayList<>();
    for (InternalRow row : (List<InternalRow>) Scala.list(stats.partitions())) {
      (isResult(row) ? results : partitions).add(row);
    }
    return copy(stats, partitions);
  }

  private static boolean isResult(InternalRow row) {
    return row instanceof GenericInternalRow
        && row.numFields() >= PREFIX
        && MARK.equals(((GenericInternalRow) row).values()[0]);
  }

  /** Returns the path by which a task has written the file of a result. */
  static String pathOf(InternalRow result) {
    return (String) ((GenericInternalRow) result).values()[1];
  }

  /** Returns the results of a file behind its number, or null if the file has no rows. */
  static InternalRow numbered(InternalRow result, int number) {
    Object[] values = ((GenericInternalRow) result).values();
    if (values.length == PREFIX) {
      return null;
    }
    Object[] numbered = new Object[values.length - 1];
    numbered[0] = Integer.valueOf(number);
    System.arraycopy(values, PREFIX, numbered, 1, values.length - PREFIX);
    return new GenericInternalRow(numbered);
  }
}
