package io.xskip.listing;

import io.xskip.catalyst.NodeRewriter;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.StructType;

/**
 * Replaces partition columns, found by name as in Spark's listing, by references to the row of a
 * partition's values.
 */
final class PartitionBinding extends NodeRewriter<Expression> {
  private final StructType partitionSchema;

  PartitionBinding(StructType partitionSchema) {
    this.partitionSchema = partitionSchema;
  }

  @Override
  protected boolean matches(Object node) {
    return node instanceof AttributeReference;
  }

  @Override
  protected Object rewrite(Object node) {
    int i = partitionSchema.fieldIndex(((AttributeReference) node).name());
    return new BoundReference(i, partitionSchema.apply(i).dataType(), true);
  }
}
