package io.xskip.files;

import io.xskip.catalyst.ValueEncoder;
import io.xskip.common.Bytes;
import io.xskip.protocol.FileTableWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/** A listing, which Python reads as a table of its files in the order of the partitions. */
public final class FileListing {
  private final List<PartitionDirectory> directories;
  private final StructType schema;
  private final List<FileStatus> files = new ArrayList<>();

  /** Creates a listing of directories whose values Python reads by the partition columns. */
  public FileListing(List<PartitionDirectory> directories, StructType schema) {
    this.directories = directories;
    this.schema = schema;
    for (PartitionDirectory directory : directories) {
      scala.collection.Iterator<?> iterator = directory.files().iterator();
      while (iterator.hasNext()) {
        files.add(((FileStatusWithMetadata) iterator.next()).fileStatus());
      }
    }
  }

  /** Returns a listing of files without partitions. */
  static FileListing of(List<FileStatus> files) {
    Map<String, Object> noMetadata = Map$.MODULE$.<String, Object>empty();
    VectorBuilder<FileStatusWithMetadata> builder = new VectorBuilder<>();
    for (FileStatus file : files) {
      builder.$plus$eq(new FileStatusWithMetadata(file, noMetadata));
    }
    Seq<FileStatusWithMetadata> all = (Seq<FileStatusWithMetadata>) builder.result();
    InternalRow noValues = new GenericInternalRow(new Object[0]);
    return new FileListing(
        Collections.singletonList(new PartitionDirectory(noValues, all)), new StructType());
  }

  /** Returns the directories of the listing, one per partition. */
  public List<PartitionDirectory> directories() {
    return directories;
  }

  /** Returns the number of files. */
  public int count() {
    return files.size();
  }

  /** Returns the files with their decoded paths without scheme and authority. */
  public FileTableWriter table() {
    FileTableWriter table = new FileTableWriter(files.size());
    int i = 0;
    for (int partition = 0; partition < directories.size(); partition++) {
      PartitionDirectory directory = (PartitionDirectory) directories.get(partition);
      table.addPartition(ValueEncoder.row(directory.values(), schema));
      for (int end = i + directory.files().length(); i < end; i++) {
        FileStatus file = (FileStatus) files.get(i);
        String path = file.getPath().toUri().getPath();
        table.add(file.getLen(), file.getModificationTime(), partition, path);
      }
    }
    return table;
  }

  /**
   * Returns the full Hadoop paths of files, separated by NUL, in base 64.
   *
   * @param positions the positions of the files as int64
   */
  public String paths(byte[] positions) {
    StringBuilder paths = new StringBuilder();
    for (long position : Bytes.longs(positions)) {
      if (paths.length() > 0) {
        paths.append('\0');
      }
      paths.append(((FileStatus) files.get((int) position)).getPath());
    }
    return Bytes.text(paths.toString().getBytes(StandardCharsets.UTF_8));
  }
}
