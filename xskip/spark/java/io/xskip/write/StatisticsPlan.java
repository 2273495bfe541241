package io.xskip.write;

import io.xskip.catalyst.SchemaBinding;
import io.xskip.collect.RunStatistics;
import io.xskip.shims.DataFrames;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** The statistics that tasks collect of the rows that they write. */
final class StatisticsPlan implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String[] specs;
  private final int[] positions; // of the accumulators' columns in the rows
  private final Expression[] inputs; // what rows are projected to, or null to take them as they are
  private final int columns; // of the written rows
  private final ResultLimits limits = new ResultLimits(SparkCompat.context().getConf());

  private StatisticsPlan(String[] specs, Expression[] inputs, StructType schema) {
    this.specs = specs;
    columns = schema.length();
    boolean isPlain = true;
    for (Expression input : inputs) {
      isPlain &= input instanceof BoundReference;
    }
    this.inputs = isPlain ? null : inputs;
    positions = new int[inputs.length + 1];
    positions[0] = -1; // a build has the number of the file there
    for (int i = 0; i < inputs.length; i++) {
      positions[i + 1] = isPlain ? ((BoundReference) inputs[i]).ordinal() : i;
    }
  }

  /**
   * Returns a plan whose accumulators read columns as they are.
   *
   * @param specs the accumulators, see [JVM-AC-1], whose columns count from 1
   * @param columns the names of these columns
   * @param schema the written columns, in the order of the written rows
   */
  static StatisticsPlan ofColumns(String[] specs, String[] columns, StructType schema) {
    Expression[] inputs = new Expression[columns.length];
    for (int i = 0; i < inputs.length; i++) {
      int ordinal = schema.fieldIndex(columns[i]);
      inputs[i] = new BoundReference(ordinal, schema.apply(ordinal).dataType(), true);
    }
    return new StatisticsPlan(specs, inputs, schema);
  }

  /**
   * Returns a plan.
   *
   * @param specs as for {@link #ofColumns}
   * @param selection the SQL of these columns
   * @param schema the written columns, in the order of the written rows
   */
  static StatisticsPlan of(String[] specs, String[] selection, StructType schema, Object session)
      throws Exception {
    RDD<InternalRow> noRows =
        new JavaSparkContext(SparkCompat.context()).<InternalRow>emptyRDD().rdd();
    Object rows = DataFrames.ofRows(session, noRows, schema);
    Object selected = DataFrames.selectExpr(rows, selection);
    LogicalPlan plan = SparkCompat.execution(selected).optimizedPlan();
    if (!(plan instanceof Project) || !((Project) plan).child().schema().equals(schema)) {
      throw new IllegalStateException("Spark plans more than a projection: " + plan.nodeName());
    }
    Seq<NamedExpression> expressions = ((Project) plan).projectList();
    SchemaBinding binding = new SchemaBinding(schema);
    Expression[] inputs = new Expression[selection.length];
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = bound((Expression) expressions.apply(i), binding);
    }
    return new StatisticsPlan(specs, inputs, schema);
  }

  private static Expression bound(Expression expression, SchemaBinding binding) {
    Expression input =
        expression instanceof Alias ? (Expression) ((Alias) expression).child() : expression;
    return (Expression) input.transformUp(binding);
  }

  ResultLimits limits() {
    return limits;
  }

  /** Fails if a row does not have the columns of the plan. */
  void check(InternalRow row) {
    if (row.numFields() != columns) {
      throw new IllegalStateException(row.numFields() + " columns are written, not " + columns);
    }
  }

  /** Returns the statistics of a file without rows. */
  RunStatistics newStatistics() {
    return RunStatistics.ofFile(specs, positions);
  }

  /** Returns the projection of rows to the columns of the accumulators, or null for none. */
  UnsafeProjection newProjection() {
    return inputs == null
        ? null
        : UnsafeProjection$.MODULE$.create((Seq<Expression>) Scala.seq(Arrays.asList(inputs)));
  }
}
