package io.xskip.write;

import io.xskip.common.Failures;
import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.datasources.BasicWriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.BasicWriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.util.SerializableConfiguration;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** Spark's statistics of a write, with those of the files for their index. */
final class StatisticsTracker extends BasicWriteJobStatsTracker {
  private static final long serialVersionUID = 1L;

  private final StatisticsPlan plan;
  private final transient IndexedWrite write; // null on executors

  StatisticsTracker(
      SerializableConfiguration conf, Map<String, SQLMetric> metrics, IndexedPath path) {
    super(conf, metrics);
    plan = path.plan();
    write = path.write();
  }

  @Override
  public WriteTaskStatsTracker newTaskInstance() {
    WriteTaskStatsTracker own = super.newTaskInstance();
    try {
      return new FileStatistics(own, plan);
    } catch (Throwable t) {
      Failures.logDebug("the statistics of written files", t);
      return own;
    }
  }

  /**
   * Processes the statistics of a job that Spark has committed: an error here would fail the query
   * although its files are there.
   */
  @Override
  public void processStats(Seq<WriteTaskStats> stats, long jobCommitTime) {
    List<Object[]> results = new ArrayList<>();
    super.processStats(removeResults(stats, results), jobCommitTime);
    try {
      write.commit(results);
    } catch (Throwable t) {
      Failures.logWrite(t);
    }
  }

  /** Moves the results in the statistics of tasks to a list, and returns Spark's own statistics. */
  private static Seq<WriteTaskStats> removeResults(
      Seq<WriteTaskStats> stats, List<Object[]> results) {
    try {
      List<WriteTaskStats> left = new ArrayList<>();
      for (WriteTaskStats each : Scala.list(stats)) {
        left.add(TaskResults.remove((BasicWriteTaskStats) each, results));
      }
      return (Seq<WriteTaskStats>) Scala.seq(left);
    } catch (Throwable t) {
      Failures.logWrite(t);
      results.clear();
      return stats;
    }
  }
}
