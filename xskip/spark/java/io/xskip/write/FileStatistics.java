package io.xskip.write;

import io.xskip.collect.RunStatistics;
import io.xskip.common.Failures;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.datasources.BasicWriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;

/**
 * The statistics of the files of a task, beside Spark's own: an error here leaves the files of the
 * task without statistics, and never fails the task.
 *
 * <p>The results travel in Spark's statistics ({@link TaskResults}), so that the driver gets those
 * of committed attempts only.
 */
final class FileStatistics implements WriteTaskStatsTracker {
  private final WriteTaskStatsTracker delegate;
  private final StatisticsPlan plan;
  private final Map<String, RunStatistics> open = new HashMap<>();
  private final List<Object[]> results = new ArrayList<>();
  private final UnsafeProjection projection; // to the columns of the accumulators, or null
  private boolean hasFailed = false;
  private String path = null; // of the latest row
  private RunStatistics file = null;

  FileStatistics(WriteTaskStatsTracker delegate, StatisticsPlan plan) {
    this.delegate = delegate;
    this.plan = plan;
    projection = plan.newProjection();
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
        plan.check(row);
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

  /** Returns the path of a file, its number of rows, and its results if it has rows. */
  private static Object[] result(String filePath, RunStatistics closed) {
    long rows = closed.rows();
    Object[] values = new Object[rows > 0 ? 2 + closed.width() + 1 : 2];
    values[0] = filePath;
    values[1] = Long.valueOf(rows);
    if (rows > 0) {
      values[closed.emit(values, 2, true)] = closed.counts();
    }
    return values;
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
      return results.isEmpty()
          ? stats
          : TaskResults.add(results, plan.limits(), (BasicWriteTaskStats) stats);
    } catch (Throwable t) {
      fail(t);
      return stats;
    }
  }
}
