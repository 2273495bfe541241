package io.xskip.shims;

import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** A file index without partition columns and without what only some indexes of Spark have. */
public abstract class SimpleFileIndex implements FileIndex {
  @Override
  public void refresh() {}

  @Override
  public StructType partitionSchema() {
    return new StructType();
  }

  @Override
  public Option<Object> metadataOpsTimeNs() {
    return Option.empty();
  }

  public boolean isTimeTravel() { // FileIndex has the method from Spark 4.3 on
    return false;
  }
}
