package io.xskip.files;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.catalyst.ValueEncoder;
import io.xskip.common.Bytes;
import io.xskip.common.Json;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * A listing in the packed form in which Python reads it: arrays in base 64 with an entry per file,
 * in the order of the partitions.
 */
public final class FileListing {
  /** The length for which a buffer reserves space per path. */
  private static final int TYPICAL_PATH_LENGTH = 64;

  private final List<PartitionDirectory> directories;
  private final List<FileStatus> files;
  private final long[] partitions;

  public FileListing(List<PartitionDirectory> directories) {
    this.directories = directories;
    int count = 0;
    for (PartitionDirectory directory : directories) {
      count += directory.files().length();
    }
    files = new ArrayList<>(count);
    partitions = new long[count];
    for (int partition = 0; partition < directories.size(); partition++) {
      PartitionDirectory directory = (PartitionDirectory) directories.get(partition);
      scala.collection.Iterator<?> iterator = directory.files().iterator();
      while (iterator.hasNext()) {
        partitions[files.size()] = partition;
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
    return new FileListing(Collections.singletonList(new PartitionDirectory(noValues, all)));
  }

  /** Returns the directories of the listing, one per partition. */
  public List<PartitionDirectory> directories() {
    return directories;
  }

  /**
   * Returns three columns of int64, one after the other: the length of each file, its modification
   * time in milliseconds, and its partition as a position in {@link #partitionValues}.
   */
  public String numbers() {
    int count = files.size();
    long[] numbers = new long[3 * count];
    int i = 0;
    for (FileStatus file : files) {
      numbers[i] = file.getLen();
      numbers[count + i] = file.getModificationTime();
      numbers[2 * count + i] = partitions[i];
      i++;
    }
    return Bytes.text(Bytes.bytes(numbers));
  }

  /** Returns the decoded paths without scheme and authority, separated by NUL. */
  public String names() {
    return packedNames().text();
  }

  /** Writes the bytes of {@link #names} to a local file, which takes less time than base 64. */
  public void writeNames(String file) throws IOException {
    FileOutputStream out = new FileOutputStream(file);
    try {
      packedNames().writeTo(out);
    } finally {
      out.close();
    }
  }

  private PathWriter packedNames() {
    PathWriter writer = new PathWriter(files.size());
    for (FileStatus file : files) {
      writer.add(file.getPath().toUri().getPath());
    }
    return writer;
  }

  /**
   * Returns the full Hadoop paths of files, separated by NUL.
   *
   * @param positions the positions of the files as int64
   */
  public String paths(byte[] positions) {
    long[] chosen = Bytes.longs(positions);
    PathWriter writer = new PathWriter(chosen.length);
    for (long position : chosen) {
      Path path = ((FileStatus) files.get((int) position)).getPath();
      writer.add(path.toString());
    }
    return writer.text();
  }

  /** Returns the values of each partition, as a JSON array of arrays. */
  public String partitionValues(final StructType schema) {
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (PartitionDirectory directory : directories) {
              ValueEncoder.writeRow(json, directory.values(), schema);
            }
            json.writeEndArray();
          }
        });
  }

  /** Joins texts with NUL. */
  private static final class PathWriter {
    private final ByteArrayOutputStream buffer;

    PathWriter(int count) {
      buffer = new ByteArrayOutputStream(TYPICAL_PATH_LENGTH * count);
    }

    void add(String path) {
      if (buffer.size() > 0) {
        buffer.write(0);
      }
      byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
      buffer.write(bytes, 0, bytes.length);
    }

    void writeTo(OutputStream out) throws IOException {
      buffer.writeTo(out);
    }

    String text() {
      return Bytes.text(buffer.toByteArray());
    }
  }
}
