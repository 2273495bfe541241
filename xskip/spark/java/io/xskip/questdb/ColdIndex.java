package io.xskip.questdb;

import io.xskip.common.SkippingSettings;
import io.xskip.files.SimpleFileIndex;
import io.xskip.location.IndexLocation;
import io.xskip.location.IndexLocations;
import io.xskip.location.OwnIndexLocation;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * The files of a group of a cold tier that are read with the current transaction of the table. A
 * listing lacks the files whose times no filter on the designated timestamp matches.
 */
final class ColdIndex extends SimpleFileIndex implements OwnIndexLocation {
  private final TableState state;
  private final String group;

  ColdIndex(TableState state, String group) {
    this.state = state;
    this.group = group;
  }

  @Override
  public IndexLocation indexLocation(SkippingSettings settings) {
    return (IndexLocation) IndexLocations.ofPath(state.latest().cold.root, settings).get(0);
  }

  /** Returns a path that no command of Spark can delete, see {@link PieceIndex#rootPaths}. */
  @Override
  public Seq<Path> rootPaths() {
    return PieceIndex.unwritable(state.latest().cold.root);
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    TableDescription table = state.current();
    state.fix();
    TimeRange range = PieceIndex.range(table, dataFilters);
    VectorBuilder<FileStatusWithMetadata> files = new VectorBuilder<>();
    for (ColdFiles.Entry file : table.cold.of(group)) {
      if (range.overlaps(file.start, file.end)) {
        files.$plus$eq(
            new FileStatusWithMetadata(file.status, Map$.MODULE$.<String, Object>empty()));
      }
    }
    return PieceIndex.listing(files.result());
  }

  @Override
  public String[] inputFiles() {
    List<ColdFiles.Entry> files = state.latest().cold.of(group);
    String[] names = new String[files.size()];
    for (int i = 0; i < names.length; i++) {
      names[i] = ((ColdFiles.Entry) files.get(i)).status.getPath().toUri().toString();
    }
    return names;
  }

  @Override
  public void refresh() {
    state.refresh();
  }

  @Override
  public long sizeInBytes() {
    long sum = 0;
    for (ColdFiles.Entry file : state.current().cold.of(group)) {
      sum += file.status.getLen();
    }
    return sum;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ColdIndex
        && ((ColdIndex) other).state.equals(state)
        && ((ColdIndex) other).group.equals(group);
  }

  @Override
  public int hashCode() {
    return 31 * state.hashCode() + group.hashCode();
  }

  @Override
  public String toString() {
    return "ColdIndex(" + state.latest().cold.root + ")";
  }
}
