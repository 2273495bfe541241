package io.xskip.catalyst;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.StructType;

/** Replaces columns, found by name in a schema, by references to their places in rows. */
public final class SchemaBinding extends NodeRewriter<Expression> {
  private final StructType schema;

  public SchemaBinding(StructType schema) {
    this.schema = schema;
  }

  @Override
  protected boolean matches(Object node) {
    return node instanceof AttributeReference;
  }

  @Override
  protected Object rewrite(Object node) {
    int i = schema.fieldIndex(((AttributeReference) node).name());
    return new BoundReference(i, schema.apply(i).dataType(), true);
  }
}
