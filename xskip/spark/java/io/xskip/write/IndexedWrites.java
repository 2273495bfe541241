package io.xskip.write;

import io.xskip.common.Failures;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.location.IndexDiscovery;
import io.xskip.location.IndexLocation;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.datasources.BasicWriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.util.SerializableConfiguration;

/** Lets the writes to datasets with an index collect statistics. */
public final class IndexedWrites {
  private IndexedWrites() {}

  /** Returns a plan in which a write to an indexed dataset collects statistics. */
  public static LogicalPlan rewrite(LogicalPlan plan, SkippingSettings settings) {
    try {
      if (plan instanceof CreateDataSourceTableAsSelectCommand) {
        RequestedIndexes.announce((CreateDataSourceTableAsSelectCommand) plan, settings.session);
      }
      if (plan.getClass() != InsertIntoHadoopFsRelationCommand.class
          || hasOtherEngine(settings.session)) {
        return plan;
      }
      return rewrite((InsertIntoHadoopFsRelationCommand) plan, settings);
    } catch (Throwable t) {
      Failures.logWrite(t);
      return plan;
    }
  }

  /** Returns whether another engine can write in place of Spark: it can know Spark's class only. */
  private static boolean hasOtherEngine(Object session) throws Exception {
    return SparkCompat.state(session).columnarRules().nonEmpty();
  }

  private static LogicalPlan rewrite(
      InsertIntoHadoopFsRelationCommand command, SkippingSettings settings) throws Exception {
    Path output = output(command, settings);
    CatalogTable table = (CatalogTable) Scala.orNull(command.catalogTable());
    String indexes = RequestedIndexes.of(command, table, output);
    List<IndexLocation> locations = IndexDiscovery.ofOutput(output, table, settings);
    if (locations.isEmpty() && indexes == null) {
      return command;
    }
    IndexLocation location =
        locations.isEmpty()
            ? IndexDiscovery.newLocation(output, table, settings)
            : (IndexLocation) locations.get(0);
    if (!isInDataset(Paths.key(output), location)) {
      return command;
    }
    IndexedWrite write = new IndexedWrite(command, location, output, indexes, settings.session);
    StatisticsPlan plan = write.plan();
    return plan == null
        ? command
        : indexed(command, new IndexedPath(command.outputPath(), plan, write));
  }

  /** Returns whether Spark reads the files of a directory as files of the dataset. */
  private static boolean isInDataset(String output, IndexLocation location) {
    String root = location.listed();
    if (output.equals(root)) {
      return true;
    }
    String start = root.endsWith("/") ? root : root + "/";
    if (!output.startsWith(start)) {
      return false;
    }
    for (String name : output.substring(start.length()).split("/")) {
      if (name.indexOf('=') <= 0) { // no partition
        return false;
      }
    }
    return true;
  }

  /**
   * Returns a command that collects the statistics that its path tells, or the command itself if
   * this Spark has another one.
   */
  public static InsertIntoHadoopFsRelationCommand indexed(
      InsertIntoHadoopFsRelationCommand command, Path path) {
    try {
      Object[] elements = SparkCompat.elements(command);
      elements[0] = path;
      Object insert = SparkCompat.newInstance(InsertClass.get(), elements);
      if (insert == null) {
        return command;
      }
      ((LogicalPlan) insert).copyTagsFrom(command);
      return (InsertIntoHadoopFsRelationCommand) insert;
    } catch (Throwable t) {
      Failures.logWrite(t);
      return command;
    }
  }

  private static Path output(InsertIntoHadoopFsRelationCommand command, SkippingSettings settings)
      throws Exception {
    Path path = command.outputPath();
    FileSystem system =
        path.getFileSystem(
            SparkCompat.state(settings.session).newHadoopConfWithOptions(command.options()));
    return system.makeQualified(path);
  }

  /** Returns what collects the statistics of a write: Spark's own, and those of the index. */
  public static BasicWriteJobStatsTracker tracker(
      InsertIntoHadoopFsRelationCommand command, Configuration conf) {
    SerializableConfiguration serializable = new SerializableConfiguration(conf);
    return command.outputPath() instanceof IndexedPath
        ? new StatisticsTracker(serializable, command.metrics(), (IndexedPath) command.outputPath())
        : new BasicWriteJobStatsTracker(serializable, command.metrics());
  }
}
