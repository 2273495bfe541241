package io.xskip.collect;

import io.xskip.shims.Scala;
import io.xskip.shims.SimpleFileIndex;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** A file index that lists a fixed subset of the files of another index. */
final class FileSubset extends SimpleFileIndex {
  private final FileIndex delegate;
  private final Seq<PartitionDirectory> directories;
  private final List<String> names = new ArrayList<>();
  private final long sizeInBytes;

  FileSubset(FileIndex delegate, List<PartitionDirectory> chosen) {
    this.delegate = delegate;
    long total = 0;
    for (PartitionDirectory directory : chosen) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        names.add(file.fileStatus().getPath().toString());
        total += file.fileStatus().getLen();
      }
    }
    directories = (Seq<PartitionDirectory>) Scala.seq(chosen);
    sizeInBytes = total;
  }

  @Override
  public Seq<Path> rootPaths() {
    return delegate.rootPaths();
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    return directories;
  }

  @Override
  public String[] inputFiles() {
    return (String[]) names.toArray(new String[0]);
  }

  @Override
  public long sizeInBytes() {
    return sizeInBytes;
  }

  @Override
  public StructType partitionSchema() {
    return delegate.partitionSchema();
  }
}
