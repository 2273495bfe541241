package io.xskip.write;

import io.xskip.read.HookFileIndex;
import io.xskip.shims.Scala;
import io.xskip.shims.SimpleFileIndex;
import java.util.Collections;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Seq;

/** The file index of a dataset before its files are written. */
final class NoFiles extends SimpleFileIndex implements HookFileIndex {
  private final Path root;

  NoFiles(Path root) {
    this.root = root;
  }

  @Override
  public Seq<Path> rootPaths() {
    return (Seq<Path>) Scala.seq(Collections.singletonList(root));
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    return (Seq<PartitionDirectory>) Scala.seq(Collections.<PartitionDirectory>emptyList());
  }

  @Override
  public String[] inputFiles() {
    return new String[0];
  }

  @Override
  public long sizeInBytes() {
    return 0;
  }
}
