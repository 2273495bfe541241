package io.xskip.questdb;

import io.xskip.common.SkippingSettings;
import io.xskip.location.IndexLocation;
import io.xskip.location.IndexLocations;
import io.xskip.location.OwnIndexLocation;
import io.xskip.read.HookFileIndex;
import io.xskip.shims.SimpleFileIndex;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/**
 * The files of a group of a cold tier, in the current transaction, whose times some filter on the
 * timestamp matches.
 */
final class ColdIndex extends SimpleFileIndex implements HookFileIndex, OwnIndexLocation {
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

  @Override
  public Seq<Path> rootPaths() {
    return PieceIndex.unwritable(state.latest().cold.root); // no command of Spark can delete it
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    TableDescription table = state.current();
    state.fix();
    TimeRange range = PieceIndex.range(table, dataFilters);
    List<FileStatusWithMetadata> files = new ArrayList<>();
    for (ColdFiles.Entry file : table.cold.of(group)) {
      if (range.overlaps(file.start, file.end)) {
        files.add(new FileStatusWithMetadata(file.status, Map$.MODULE$.<String, Object>empty()));
      }
    }
    return PieceIndex.listing(files);
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
