package io.xskip.listing;

import io.xskip.catalyst.SchemaBinding;
import io.xskip.common.Bytes;
import io.xskip.common.Paths;
import io.xskip.common.RootNames;
import io.xskip.common.SkippingSettings;
import io.xskip.location.IndexLocation;
import io.xskip.location.IndexLocations;
import io.xskip.location.OwnIndexLocation;
import io.xskip.protocol.FileTable;
import io.xskip.read.HookFileIndex;
import io.xskip.shims.Scala;
import io.xskip.shims.SimpleFileIndex;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.PruningAnswer;
import io.xskip.snapshot.TableOrdinals;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedPredicate;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * The files of a dataset as a snapshot of its index has them, except for directories that were
 * listed instead.
 */
public final class IndexedFileIndex extends SimpleFileIndex
    implements HookFileIndex, OwnIndexLocation {
  private static final long BLOCK_SIZE = 128L << 20;

  private final long token;
  private final FileTable files;
  private final FileIndex listedIndex; // the files in directories that were listed, or null
  private final Path root;
  private final RootNames names;
  private final String scheme;
  private final String authority;
  private final byte[] replacedFiles; // a set bit: the file is in a directory that was listed
  private final StructType partitionSchema;
  private final InternalRow[] partitionValues;
  private IndexLocation indexLocation;

  // the statuses of the files that queries have read by answers about other files
  private volatile SoftReference<FileStatusWithMetadata[]> knownStatuses =
      new SoftReference<>(null);

  private volatile TableOrdinals latestOrdinals = null; // of the latest answer about other files

  /**
   * Creates the index of a snapshot's files; root and recorded root, by which the snapshot names
   * the files, are keys of {@link Paths}.
   */
  public IndexedFileIndex(
      long token,
      FileTable files,
      FileIndex listedIndex,
      String root,
      String recordedRoot,
      byte[] replacedFiles,
      StructType partitionSchema)
      throws Exception {
    this.token = token;
    this.files = files;
    this.listedIndex = listedIndex;
    this.root = Paths.path(root);
    this.names = root.equals(recordedRoot) ? null : new RootNames(root, recordedRoot);
    this.scheme = this.root.toUri().getScheme();
    String authority = this.root.toUri().getAuthority();
    this.authority = authority == null ? "" : authority;
    this.replacedFiles = replacedFiles;
    this.partitionSchema = partitionSchema;
    String[] encoded = files.partitionValues();
    this.partitionValues = new InternalRow[encoded.length];
    for (int i = 0; i < encoded.length; i++) {
      partitionValues[i] = PartitionValues.parse(encoded[i], partitionSchema);
    }
  }

  /** Sets the directory of the metadata, as a key of {@link Paths}. */
  public void useIndexAt(String directory) {
    indexLocation = IndexLocations.at(Paths.key(root), directory);
  }

  @Override
  public IndexLocation indexLocation(SkippingSettings settings) {
    return indexLocation;
  }

  /** Returns a relation that differs from another one in its file index, which is this one. */
  public HadoopFsRelation in(HadoopFsRelation relation) {
    return SparkCompat.withIndex(relation, this, partitionSchema);
  }

  @Override
  public Seq<Path> rootPaths() {
    return (Seq<Path>) Scala.seq(Collections.singletonList(root));
  }

  @Override
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    return listFiles(partitionFilters, dataFilters, null);
  }

  /**
   * Returns the files of the partitions that match, without those that an answer rules out, which
   * can be null.
   */
  public Seq<PartitionDirectory> listFiles(
      Seq<Expression> partitionFilters, Seq<Expression> dataFilters, PruningAnswer answer) {
    List<PartitionDirectory> directories = new ArrayList<>();
    addIndexed(partitionFilters, answer, directories);
    if (listedIndex != null) {
      Seq<PartitionDirectory> others =
          SparkCompat.listFiles(listedIndex, partitionFilters, dataFilters);
      if (answer != null) {
        others = answer.filter(others, partitionSchema);
      }
      directories.addAll((List<PartitionDirectory>) Scala.list(others));
    }
    return (Seq<PartitionDirectory>) Scala.seq(directories);
  }

  private void addIndexed(
      Seq<Expression> partitionFilters,
      PruningAnswer answer,
      List<PartitionDirectory> directories) {
    List<VectorBuilder<FileStatusWithMetadata>> statuses = new ArrayList<>();
    for (InternalRow values : partitionValues) {
      boolean isRead = matches(partitionFilters, values);
      statuses.add(isRead ? new VectorBuilder<FileStatusWithMetadata>() : null);
    }
    addStatuses(answer, statuses);
    for (int i = 0; i < partitionValues.length; i++) {
      if (statuses.get(i) == null) { // the partition is not read
        continue;
      }
      Seq<FileStatusWithMetadata> partition =
          ((VectorBuilder<FileStatusWithMetadata>) statuses.get(i)).result();
      if (!partition.isEmpty()) {
        directories.add(new PartitionDirectory(partitionValues[i], partition));
      }
    }
  }

  private void addStatuses(
      PruningAnswer answer, List<VectorBuilder<FileStatusWithMetadata>> partitions) {
    boolean isOfOthers = answer != null && !answer.isOf(token);
    TableOrdinals ordinals = isOfOthers ? answer.ordinals(files, latestOrdinals) : null;
    int[] known = isOfOthers ? answer.partitions(partitionValues, partitionSchema) : null;
    FileStatusWithMetadata[] statuses = isOfOthers ? knownStatuses() : null;
    if (isOfOthers) {
      latestOrdinals = ordinals;
    }
    for (int i = 0; i < files.count(); i++) {
      VectorBuilder<FileStatusWithMetadata> partition =
          (VectorBuilder<FileStatusWithMetadata>) partitions.get(files.partition(i));
      if (partition == null || Bytes.isSet(replacedFiles, 0, i)) {
        continue;
      }
      long length = files.length(i);
      boolean isRead =
          isOfOthers
              ? answer.keeps(ordinals, i, length, known[files.partition(i)])
              : answer == null || answer.keeps(i, length);
      if (isRead) {
        partition.$plus$eq(listed(i, statuses));
      }
    }
  }

  private FileStatusWithMetadata listed(int i, FileStatusWithMetadata[] known) {
    // A status is created only for a file that a query reads.
    FileStatusWithMetadata status = known == null ? null : known[i];
    if (status == null) {
      status = new FileStatusWithMetadata(status(i), Map$.MODULE$.<String, Object>empty());
    }
    if (known != null) {
      known[i] = status;
    }
    return status;
  }

  private FileStatusWithMetadata[] knownStatuses() {
    FileStatusWithMetadata[] known = (FileStatusWithMetadata[]) knownStatuses.get();
    if (known == null) {
      known = new FileStatusWithMetadata[files.count()];
      knownStatuses = new SoftReference<>(known);
    }
    return known;
  }

  private boolean matches(Seq<Expression> partitionFilters, InternalRow values) {
    for (Expression filter : Scala.list(partitionFilters)) {
      Expression bound = (Expression) filter.transformDown(new SchemaBinding(partitionSchema));
      if (!new InterpretedPredicate(bound).eval(values)) {
        return false;
      }
    }
    return true;
  }

  private FileStatus status(int i) {
    String name = names == null ? files.path(i) : names.listed(files.path(i));
    Path path = new Path(scheme, authority, name);
    return new FileStatus(files.length(i), false, 1, BLOCK_SIZE, files.time(i), path);
  }

  @Override
  public String[] inputFiles() {
    Seq<Expression> noFilters = new VectorBuilder<Expression>().result();
    List<String> names = new ArrayList<>();
    for (PartitionDirectory directory : Scala.list(listFiles(noFilters, noFilters))) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        names.add(file.fileStatus().getPath().toUri().toString());
      }
    }
    return (String[]) names.toArray(new String[0]);
  }

  @Override
  public void refresh() {
    if (listedIndex != null) {
      listedIndex.refresh();
    }
  }

  @Override
  public long sizeInBytes() {
    long sum = listedIndex == null ? 0 : listedIndex.sizeInBytes();
    for (int i = 0; i < files.count(); i++) {
      if (!Bytes.isSet(replacedFiles, 0, i)) {
        sum += files.length(i);
      }
    }
    return sum;
  }

  @Override
  public StructType partitionSchema() {
    return partitionSchema;
  }

  @Override
  public String toString() {
    return "IndexedFileIndex(" + root + ")";
  }
}
