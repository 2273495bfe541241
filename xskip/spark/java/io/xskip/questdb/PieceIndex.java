package io.xskip.questdb;

import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.files.SimpleFileIndex;
import io.xskip.location.IndexLocation;
import io.xskip.location.IndexLocations;
import io.xskip.location.OwnIndexLocation;
import java.util.ArrayList;
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
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * The pieces of a table as Spark's files. A listing lacks the pieces whose times no filter on the
 * designated timestamp matches.
 *
 * <p>The path of a native piece is its folder. The time of modification is a digest of all that
 * identifies the rows of the piece, so that an index notices changes. Each file carries its {@link
 * Piece}.
 */
final class PieceIndex extends SimpleFileIndex implements OwnIndexLocation {
  private static final String SCHEME = "questdb";
  private static final String PIECE = "__xskip_piece";
  private static final long BLOCK_SIZE = 128L << 20;

  private final TableState state;

  /** The query whose rows are all that is read of the table, or null. */
  private final LatestRows latest;

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

  /**
   * Returns a path with a scheme that no file system has. Spark's commands that overwrite a
   * relation would delete the folder of the table before they find that they cannot write to it.
   */
  @Override
  public Seq<Path> rootPaths() {
    return unwritable(state.latest().snapshot.data);
  }

  /** Returns a path in a scheme that no file system has. */
  static Seq<Path> unwritable(String root) {
    VectorBuilder<Path> paths = new VectorBuilder<>();
    paths.$plus$eq(new Path(SCHEME + ":" + root));
    return paths.result();
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
    VectorBuilder<FileStatusWithMetadata> files = new VectorBuilder<>();
    for (int i = 0; i < table.count(); i++) {
      if (wanted[i]) {
        Map<String, Object> piece = new Map.Map1<String, Object>(PIECE, table.piece(i, openFiles));
        files.$plus$eq(new FileStatusWithMetadata(status(table, i), piece));
      }
    }
    return listing(files.result());
  }

  /** Returns for each piece whether it can have a row that filters match. */
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
  static Seq<PartitionDirectory> listing(Seq<FileStatusWithMetadata> files) {
    VectorBuilder<PartitionDirectory> directories = new VectorBuilder<>();
    if (!files.isEmpty()) {
      directories.$plus$eq(new PartitionDirectory(InternalRow.empty(), files));
    }
    return directories.result();
  }

  /** Returns the range of the designated timestamp that filters allow. */
  static TimeRange range(TableDescription table, Seq<Expression> filters) {
    TableColumn timestamp = table.snapshot.timestamp;
    return TimeRange.of(translated(filters), timestamp == null ? null : timestamp.name);
  }

  /** Returns the filters that have a form for data sources; the others say nothing about times. */
  private static Seq<Filter> translated(Seq<Expression> filters) {
    VectorBuilder<Filter> known = new VectorBuilder<>();
    Iterator<Expression> iterator = filters.iterator();
    while (iterator.hasNext()) {
      Expression filter = (Expression) iterator.next();
      Option<Filter> form = DataSourceStrategy$.MODULE$.translateFilter(filter, false);
      if (!form.isEmpty()) {
        known.$plus$eq((Filter) form.get());
      }
    }
    return (Seq<Filter>) known.result();
  }

  private static FileStatus status(TableDescription table, int i) {
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
