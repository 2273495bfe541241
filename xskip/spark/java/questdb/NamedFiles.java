package questdb;

import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileNameSpec;
import org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol;

/**
 * Spark's commit protocol, whose files have names that begin with a text that the writer chooses.
 *
 * <p>Spark before 4.1 has no other way to choose the names. Spark loads the class with the
 * application's class loader, which does not see the classes of the hook.
 */
public final class NamedFiles extends SQLHadoopMapReduceCommitProtocol {
  private static final long serialVersionUID = 1L;
  private static final String NAME = "mapreduce.output.basename";

  public NamedFiles(String jobId, String path, boolean dynamicPartitionOverwrite) {
    super(jobId, path, dynamicPartitionOverwrite);
  }

  @Override
  public String getFilename(TaskAttemptContext context, FileNameSpec spec) {
    String name = super.getFilename(context, spec);
    String start = context.getConfiguration().get(NAME, "");
    return name.startsWith(start) ? name : start + "-" + name;
  }
}
