package io.xskip.collect;

import java.util.HashSet;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.collection.immutable.Seq;

/**
 * The rows of a plan, and the place of each of its columns in them: as its scan gives them, in
 * batches where it can, if the plan does no more than to choose among their columns. Spark would
 * copy each row into one of the chosen.
 */
public class ScanRows {
  final RDD rows;
  final int[] at;

  ScanRows(QueryExecution execution) {
    SparkPlan plan = execution.sparkPlan();
    boolean chooses =
        plan instanceof ProjectExec && ((ProjectExec) plan).child() instanceof FileSourceScanExec;
    FileSourceScanExec scan = chooses ? (FileSourceScanExec) ((ProjectExec) plan).child() : null;
    int[] places = chooses ? places(((ProjectExec) plan).projectList(), scan.output()) : null;
    at = new int[plan.output().length()];
    for (int i = 0; i < at.length; i++) at[i] = places == null ? i : places[i];
    rows =
        places == null
            ? execution.toRdd()
            : scan.supportsColumnar() ? scan.executeColumnar() : scan.execute();
  }

  /** The ordinals of the objects that are read in parts; null where Spark does not say. */
  HashSet split() {
    Partition[] tasks = rows.partitions();
    HashSet found = new HashSet();
    for (int i = 0; i < tasks.length; i++) {
      if (!(tasks[i] instanceof FilePartition)) return null;
      PartitionedFile[] files = ((FilePartition) tasks[i]).files();
      for (int k = 0; k < files.length; k++) {
        InternalRow values = files[k].partitionValues();
        if (files[k].start() != 0 || files[k].length() != files[k].fileSize())
          found.add(new Integer(values.getInt(values.numFields() - 1)));
      }
    }
    return found;
  }

  /** Null where an expression is more than a column. */
  private static int[] places(Seq expressions, Seq columns) {
    int[] found = new int[expressions.length()];
    for (int i = 0; i < found.length; i++) {
      Object e = expressions.apply(i);
      if (e instanceof Alias) e = ((Alias) e).child();
      if (!(e instanceof AttributeReference)) return null;
      int k = 0;
      while (k < columns.length()
          && !((Attribute) columns.apply(k)).exprId().equals(((Attribute) e).exprId())) k++;
      if (k == columns.length()) return null;
      found[i] = k;
    }
    return found;
  }
}
