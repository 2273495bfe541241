package io.xskip.shims;

import java.lang.reflect.Method;
import java.util.Arrays;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** The creation of DataFrames by methods that Spark does not declare public. */
public final class DataFrames {
  private DataFrames() {}

  /**
   * Returns the DataFrame of a plan: {@code Dataset.ofRows} of the companion object of the class of
   * DataFrames.
   */
  public static Object ofPlan(Class<?> dataFrameClass, Object session, LogicalPlan plan)
      throws Exception {
    ClassLoader loader = dataFrameClass.getClassLoader();
    Class<?> companion = Class.forName(dataFrameClass.getName() + "$", true, loader);
    Object module = companion.getField("MODULE$").get(null);
    Method method = method(companion, "ofRows", 2);
    return method.invoke(module, session, plan);
  }

  public static Object selectExpr(Object df, String[] expressions) throws Exception {
    Object texts = Scala.seq(Arrays.asList(expressions));
    return df.getClass().getMethod("selectExpr", Seq.class).invoke(df, texts);
  }

  /** Returns the DataFrame of rows: {@code SparkSession.internalCreateDataFrame}. */
  public static Object ofRows(Object session, RDD<InternalRow> rows, StructType schema)
      throws Exception {
    Method method = method(session.getClass(), "internalCreateDataFrame", 3);
    boolean isStreaming = false;
    return method.invoke(session, rows, schema, isStreaming);
  }

  // The classes of DataFrames and sessions differ between Spark 3 and 4.
  private static Method method(Class<?> owner, String name, int parameterCount)
      throws NoSuchMethodException {
    for (Method method : owner.getMethods()) {
      if (method.getName().equals(name) && method.getParameterCount() == parameterCount) {
        return method;
      }
    }
    throw new NoSuchMethodException(owner.getName() + "." + name);
  }
}
