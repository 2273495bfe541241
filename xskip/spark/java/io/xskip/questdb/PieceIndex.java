package io.xskip.questdb;

import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.location.IndexLocation;
import io.xskip.location.IndexLocations;
import io.xskip.location.OwnIndexLocation;
import io.xskip.read.HookFileIndex;
import io.xskip.shims.Scala;
import io.xskip.shims.SimpleFileIndex;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.Filter;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * The pieces of a table as Spark's files: those whose times some filter on the designated timestamp
 * matches.
 */
final class PieceIndex extends SimpleFileIndex implements HookFileIndex, OwnIndexLocation {
  private static final String SCHEME = "questdb";
  private static final String PIECE = "__xskip_piece";
  private static final long BLOCK_SIZE = 128L << 20;

  private final TableState state;
  private final LatestRows latest; // the query whose rows are all that is read, or null

  PieceIndex(TableState state) {
    this(state, null);
  }

  private PieceIndex(TableState state, LatestRows latest) {
    this.state = state;
    this.latest = latest;
  }

  /** Returns an index of the pieces that can have a row of a query. */
  PieceIndex latest(LatestRows query) {
    return new PieceIndex(state, query);
  }

  /** Returns the number of rows of the pieces that can have a row of the query. */
  long rows() {
    return latest.rows(state.latest());
  }

  /** Returns the piece of a file of a listing. */
  static Piece piece(PartitionedFile file) {
    return (Piece) file.otherConstantMetadataColumnValues().apply(PIECE);
  }

  @Override
  public IndexLocation indexLocation(SkippingSettings settings) {
    TableDescription table = state.latest();
    return settings.base != null || table.indexDirectory.isEmpty()
        ? (IndexLocation) IndexLocations.ofPath(table.snapshot.data, settings).get(0)
        : IndexLocations.at(table.snapshot.data, table.indexDirectory);
  }

  @Override
  public Seq<Path> rootPaths() {
    // Spark's commands that overwrite a relation would delete the folder of the table before they
    // find that they cannot write to it.
    return unwritable(state.latest().snapshot.data);
  }

  /** Returns a path in a scheme that no file system has. */
  static Seq<Path> unwritable(String root) {
    return (Seq<Path>) Scala.seq(Collections.singletonList(new Path(SCHEME + ":" + root)));
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    TableDescription table = state.current();
    boolean[] wanted = wanted(table, dataFilters);
    for (int attempt = 0; !state.hold(table, wanted, attempt); attempt++) {
      table = state.current();
      wanted = wanted(table, dataFilters);
    }
    OpenFiles openFiles = state.openFiles();
    List<FileStatusWithMetadata> files = new ArrayList<>();
    for (int i = 0; i < table.count(); i++) {
      if (wanted[i]) {
        Map<String, Object> piece = new Map.Map1<String, Object>(PIECE, table.piece(i, openFiles));
        files.add(new FileStatusWithMetadata(status(table, i), piece));
      }
    }
    return listing(files);
  }

  private boolean[] wanted(TableDescription table, Seq<Expression> filters) {
    TimeRange range = range(table, filters);
    boolean[] needed = latest == null ? null : latest.needed(table);
    boolean[] wanted = new boolean[table.count()];
    for (int i = 0; i < wanted.length; i++) {
      wanted[i] = (needed == null || needed[i]) && range.overlaps(table.start(i), table.end(i));
    }
    return wanted;
  }

  /** Returns a listing of files without partition columns. */
  static Seq<PartitionDirectory> listing(List<FileStatusWithMetadata> files) {
    List<PartitionDirectory> directories = new ArrayList<>();
    if (!files.isEmpty()) {
      directories.add(
          new PartitionDirectory(
              InternalRow.empty(), (Seq<FileStatusWithMetadata>) Scala.seq(files)));
    }
    return (Seq<PartitionDirectory>) Scala.seq(directories);
  }

  /** Returns the range of the designated timestamp that filters allow. */
  static TimeRange range(TableDescription table, Seq<Expression> filters) {
    TableColumn timestamp = table.snapshot.timestamp;
    return TimeRange.of(translated(filters), timestamp == null ? null : timestamp.name);
  }

  private static Seq<Filter> translated(Seq<Expression> filters) {
    List<Filter> known = new ArrayList<>(); // other filters say nothing about times
    for (Expression filter : Scala.list(filters)) {
      Option<Filter> form = DataSourceStrategy$.MODULE$.translateFilter(filter, false);
      if (!form.isEmpty()) {
        known.add((Filter) form.get());
      }
    }
    return (Seq<Filter>) Scala.seq(known);
  }

  private static FileStatus status(TableDescription table, int i) {
    // The digest of all that identifies the rows lets an index notice changes.
    Path path = Paths.path(table.folder(i));
    return new FileStatus(table.bytes(i), false, 1, BLOCK_SIZE, table.digest(i), path);
  }

  @Override
  public String[] inputFiles() {
    TableDescription table = state.latest();
    List<String> names = new ArrayList<>();
    for (int i = 0; i < table.count(); i++) {
      names.add(Paths.path(table.folder(i)).toUri().toString());
    }
    return (String[]) names.toArray(new String[0]);
  }

  @Override
  public void refresh() {
    state.refresh();
  }

  @Override
  public long sizeInBytes() {
    TableDescription table = state.current();
    long sum = 0;
    for (int i = 0; i < table.count(); i++) {
      sum += table.bytes(i);
    }
    return sum;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PieceIndex
        && ((PieceIndex) other).state.equals(state)
        && ((PieceIndex) other).latest == latest;
  }

  @Override
  public int hashCode() {
    return state.hashCode();
  }

  @Override
  public String toString() {
    return "PieceIndex(" + state.path() + (latest == null ? "" : ", " + latest) + ")";
  }
}
