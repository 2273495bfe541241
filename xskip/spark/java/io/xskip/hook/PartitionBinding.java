package io.xskip.hook;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.types.*;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * Puts the value of a partition in the place of its column, by name as Spark's own listing does.
 */
public class PartitionBinding extends AbstractPartialFunction {
  private final StructType partitions;

  PartitionBinding(StructType partitions) {
    this.partitions = partitions;
  }

  public boolean isDefinedAt(Object x) {
    return x instanceof AttributeReference;
  }

  public Object apply(Object x) {
    int i = partitions.fieldIndex(((AttributeReference) x).name());
    return new BoundReference(i, partitions.apply(i).dataType(), true);
  }

  public Object applyOrElse(Object x, Function1 orElse) {
    return isDefinedAt(x) ? apply(x) : orElse.apply(x);
  }
}
