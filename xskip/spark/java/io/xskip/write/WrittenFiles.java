package io.xskip.write;

import io.xskip.common.Parallel;
import io.xskip.common.Paths;
import io.xskip.common.RootNames;
import io.xskip.files.FileListing;
import io.xskip.location.IndexLocation;
import io.xskip.shims.ArrowFiles;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.io.FileNotFoundException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;

/** The files of a write that Spark has committed, with the results of their statistics. */
public final class WrittenFiles {
  private static final int THREADS = 8;
  private static final int FILES_PER_CALL = 64;

  private final InsertIntoHadoopFsRelationCommand command;
  private final Object session;
  private final Path root; // of the dataset, as Spark lists it
  private final RootNames names; // both names of the root, or null
  private final FileSystem system;
  private final Path output;

  /** The files of each directory, with the results of each file. */
  private final Map<Path, List<WrittenFile>> directories = new TreeMap<>();

  WrittenFiles(
      InsertIntoHadoopFsRelationCommand command,
      IndexLocation location,
      Path output,
      List<Object[]> results,
      Object session)
      throws Exception {
    this.command = command;
    this.session = session;
    this.output = output;
    names = location.names();
    Configuration conf = SparkCompat.state(session).newHadoopConfWithOptions(command.options());
    system = output.getFileSystem(conf);
    root = system.makeQualified(Paths.path(location.listed()));
    for (WrittenFile file : FileTimes.asListed(existingFiles(results), system)) {
      Path directory = file.status.getPath().getParent();
      if (!directories.containsKey(directory)) {
        directories.put(directory, new ArrayList<WrittenFile>());
      }
      ((List<WrittenFile>) directories.get(directory)).add(file);
    }
  }

  private List<WrittenFile> existingFiles(List<Object[]> results) throws Exception {
    List<Callable<List<WrittenFile>>> calls = new ArrayList<>();
    for (int start = 0; start < results.size(); start += FILES_PER_CALL) {
      int end = Math.min(results.size(), start + FILES_PER_CALL);
      calls.add(new StatusCall(results.subList(start, end)));
    }
    int threads = Math.max(1, Math.min(THREADS, calls.size()));
    List<WrittenFile> found = new ArrayList<>();
    for (List<WrittenFile> files : Parallel.results(calls, threads)) {
      found.addAll(files);
    }
    return found;
  }

  /** Finds some files; leaves out those that are not where this class expects them. */
  private final class StatusCall implements Callable<List<WrittenFile>> {
    private final List<Object[]> results;

    StatusCall(List<Object[]> results) {
      this.results = results;
    }

    @Override
    public List<WrittenFile> call() throws Exception {
      List<WrittenFile> files = new ArrayList<>();
      for (Object[] result : results) {
        try {
          files.add(new WrittenFile(system.getFileStatus(committedPath(result)), result));
        } catch (FileNotFoundException e) {
          // such as a file of a partition with a location of its own
        }
      }
      return files;
    }
  }

  /**
   * Returns the path of a file after the commit. Committers write to different directories, but
   * below all of them a file has the directories of its partitions and its name.
   */
  private Path committedPath(Object[] result) {
    Path staged = new Path(WrittenFile.path(result));
    String relative = staged.getName();
    for (int i = 0; i < command.partitionColumns().length(); i++) {
      staged = staged.getParent();
      relative = staged.getName() + "/" + relative;
    }
    return new Path(output.toString() + "/" + relative);
  }

  /** Returns the names of the directories of whose former files the write has left none. */
  List<String> removedDirectories() {
    List<String> removed = new ArrayList<>();
    if (command.mode() != SaveMode.Overwrite) {
      return removed;
    }
    if (!command.dynamicPartitionOverwrite()) {
      removed.add(name(staticDirectory()));
      return removed;
    }
    for (Object directory : directories.keySet()) {
      removed.add(name((Path) directory));
    }
    return removed;
  }

  private Path staticDirectory() {
    Path directory = output;
    for (Attribute column : Scala.list(command.partitionColumns())) {
      scala.Option<String> value = command.staticPartitions().get(column.name());
      if (value.isEmpty()) {
        break;
      }
      String name =
          ExternalCatalogUtils.getPartitionPathString(column.name(), (String) value.get());
      directory = new Path(directory.toString() + "/" + name);
    }
    return directory;
  }

  /** Returns the name of a directory in the metadata. */
  private String name(Path directory) {
    String path = directory.toUri().getPath();
    return names == null ? path : names.recorded(path);
  }

  /**
   * Returns the partition columns of the files as Spark would read them by themselves, as the JSON
   * of their schema.
   */
  public String partitions() throws Exception {
    StructType ofTable = tablePartitions();
    return (ofTable == null ? parsed(null).partitionColumns() : ofTable).json();
  }

  private StructType tablePartitions() {
    CatalogTable table = (CatalogTable) Scala.orNull(command.catalogTable());
    return table == null || table.partitionSchema().length() == 0 ? null : table.partitionSchema();
  }

  /**
   * Returns the files with the values of partition columns, which have the JSON of their schema.
   */
  public FileListing listing(String partitions) throws Exception {
    StructType schema = (StructType) DataType.fromJson(partitions);
    Map<Path, InternalRow> values = new TreeMap<>();
    if (schema.length() > 0) {
      for (PartitionPath partition : Scala.list(parsed(schema).partitions())) {
        values.put(partition.path(), partition.values());
      }
    }
    InternalRow noValues = new GenericInternalRow(new Object[0]);
    List<PartitionDirectory> listed = new ArrayList<>();
    for (Object key : directories.keySet()) {
      InternalRow row = schema.length() > 0 ? (InternalRow) values.get(key) : noValues;
      if (row == null) {
        throw new IllegalStateException("a directory has no partition values: " + key);
      }
      listed.add(new PartitionDirectory(row, files((Path) key)));
    }
    return new FileListing(listed, schema);
  }

  private Seq<FileStatusWithMetadata> files(Path directory) {
    scala.collection.immutable.Map<String, Object> noMetadata =
        Map$.MODULE$.<String, Object>empty();
    List<FileStatusWithMetadata> files = new ArrayList<>();
    for (WrittenFile file : (List<WrittenFile>) directories.get(directory)) {
      files.add(new FileStatusWithMetadata(file.status, noMetadata));
    }
    return (Seq<FileStatusWithMetadata>) Scala.seq(files);
  }

  private PartitionSpec parsed(StructType schema) throws Exception {
    List<Path> paths = new ArrayList<>(directories.keySet());
    return SparkCompat.partitions(paths, root, schema, session);
  }

  /**
   * Writes the results of the files with rows, each with the number of its file in the listing, to
   * a local file as an Arrow stream.
   */
  public void writeResults(String schema, String path) throws Exception {
    List<InternalRow> rows = new ArrayList<>();
    int number = 0;
    for (List<WrittenFile> files : directories.values()) {
      for (WrittenFile file : files) {
        InternalRow row = file.row(number++);
        if (row != null) {
          rows.add(row);
        }
      }
    }
    ArrowFiles.write(rows, (StructType) DataType.fromJson(schema), path);
  }
}
