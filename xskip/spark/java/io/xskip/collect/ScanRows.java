package io.xskip.collect;

import java.util.HashSet;
import java.util.Iterator;
import org.apache.spark.Partition;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.collection.immutable.Seq;

/**
 * The rows of a DataFrame over files, and the position of each of the DataFrame's columns in them.
 */
final class ScanRows {
  private final RDD<?> rows;
  private final int[] positions;

  /** The ordinals of the files that several tasks read, or null if that is not known. */
  private final HashSet<Integer> splitFiles;

  /**
   * Creates the rows of a DataFrame.
   *
   * @param borders where the parts of files begin, or null to read files as Spark does
   */
  ScanRows(QueryExecution execution, FileBorders borders) throws ReflectiveOperationException {
    SparkPlan plan = execution.sparkPlan();
    FileSourceScanExec scan = projectedScan(plan);
    int[] selected =
        scan == null ? null : selectedColumns(((ProjectExec) plan).projectList(), scan.output());
    // Of a plan that only selects columns, the scan's own rows or column batches are taken: Spark's
    // projection would copy every row.
    HashSet<Integer> split = null;
    if (borders != null) {
      RDD<?> input = (selected == null ? leaf(execution.executedPlan()) : scan).inputRDD();
      split = splitFiles(input);
      borders.divide(input);
    }
    if (selected == null) {
      rows = execution.toRdd();
      positions = inOrder(plan.output().length());
    } else {
      rows = rowsOf(scan);
      positions = selected;
    }
    splitFiles = borders == null ? splitFiles(rows) : split;
  }

  private static FileSourceScanExec leaf(SparkPlan plan) {
    return (FileSourceScanExec) plan.collectLeaves().head();
  }

  /**
   * Returns the results of accumulators, see {@link AccumulatorFactory}, over the rows, as a job
   * that has yet to run.
   */
  @SuppressWarnings("unchecked") // the kernel accepts an iterator over objects of any class
  RDD<InternalRow> accumulate(String[] specs) {
    FlatMapFunction<?, InternalRow> kernel = new KernelFunction(specs, positions, splitFiles);
    JavaRDD<Object> input = (JavaRDD<Object>) rows.toJavaRDD();
    return input.mapPartitions((FlatMapFunction<Iterator<Object>, InternalRow>) kernel).rdd();
  }

  /**
   * Returns the ordinals of the files that are read in parts, or null if Spark's tasks do not show
   * their files.
   */
  private static HashSet<Integer> splitFiles(RDD<?> rows) {
    HashSet<Integer> split = new HashSet<>();
    for (Partition task : rows.partitions()) {
      if (!(task instanceof FilePartition)) {
        return null;
      }
      for (PartitionedFile file : ((FilePartition) task).files()) {
        InternalRow values = file.partitionValues();
        // the last partition value is the ordinal
        if (file.start() != 0 || file.length() != file.fileSize()) {
          split.add(Integer.valueOf(values.getInt(values.numFields() - 1)));
        }
      }
    }
    return split;
  }

  private static FileSourceScanExec projectedScan(SparkPlan plan) { // null for all other plans
    if (!(plan instanceof ProjectExec)) {
      return null;
    }
    SparkPlan child = ((ProjectExec) plan).child();
    return child instanceof FileSourceScanExec ? (FileSourceScanExec) child : null;
  }

  private static RDD<?> rowsOf(FileSourceScanExec scan) {
    if (scan.supportsColumnar()) {
      return scan.executeColumnar();
    }
    return scan.execute();
  }

  private static int[] inOrder(int count) {
    int[] positions = new int[count];
    for (int i = 0; i < count; i++) {
      positions[i] = i;
    }
    return positions;
  }

  /**
   * Returns the position of the column that each expression selects, or null if one does more than
   * that.
   */
  private static int[] selectedColumns(Seq<NamedExpression> expressions, Seq<Attribute> columns) {
    int[] positions = new int[expressions.length()];
    for (int i = 0; i < positions.length; i++) {
      Object expression = expressions.apply(i);
      if (expression instanceof Alias) {
        expression = ((Alias) expression).child();
      }
      positions[i] =
          expression instanceof AttributeReference
              ? indexOf(columns, (AttributeReference) expression)
              : -1;
      if (positions[i] < 0) {
        return null;
      }
    }
    return positions;
  }

  private static int indexOf(Seq<Attribute> columns, AttributeReference column) {
    for (int i = 0; i < columns.length(); i++) {
      if (((Attribute) columns.apply(i)).exprId().equals(column.exprId())) {
        return i;
      }
    }
    return -1;
  }
}
