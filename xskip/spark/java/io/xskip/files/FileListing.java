package io.xskip.files;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.common.Bytes;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;

/** A listing, packed for Python in base 64: one entry per file, in the order of the partitions. */
public class FileListing {
  final ArrayList files = new ArrayList();
  public final ArrayList dirs;
  private final long[] sizes, times, partitions;

  public FileListing(ArrayList dirs) {
    this.dirs = dirs;
    ArrayList of = new ArrayList();
    for (int d = 0; d < dirs.size(); d++) {
      for (scala.collection.Iterator it = ((PartitionDirectory) dirs.get(d)).files().iterator();
          it.hasNext(); ) {
        files.add(((FileStatusWithMetadata) it.next()).fileStatus());
        of.add(new Integer(d));
      }
    }
    sizes = new long[files.size()];
    times = new long[files.size()];
    partitions = new long[files.size()];
    for (int i = 0; i < sizes.length; i++) {
      FileStatus f = (FileStatus) files.get(i);
      sizes[i] = f.getLen();
      times[i] = f.getModificationTime();
      partitions[i] = ((Integer) of.get(i)).intValue();
    }
  }

  public int count() {
    return sizes.length;
  }

  public String sizes() {
    return Bytes.text(Bytes.bytes(sizes));
  }

  public String times() {
    return Bytes.text(Bytes.bytes(times));
  }

  public String partitionOf() {
    return Bytes.text(Bytes.bytes(partitions));
  }

  /** Decoded paths without scheme and authority, parted by NUL. */
  public String names() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream(64 * sizes.length + 16);
    for (int i = 0; i < sizes.length; i++) add(out, path(i).toUri().getPath());
    return Bytes.text(out.toByteArray());
  }

  /** Full Hadoop paths of the files at some positions, parted by NUL. */
  public String paths(byte[] positions) throws Exception {
    long[] p = Bytes.longs(positions);
    ByteArrayOutputStream out = new ByteArrayOutputStream(64 * p.length + 16);
    for (int i = 0; i < p.length; i++) add(out, path((int) p[i]).toString());
    return Bytes.text(out.toByteArray());
  }

  private Path path(int i) {
    return ((FileStatus) files.get(i)).getPath();
  }

  private static void add(ByteArrayOutputStream out, String text) throws Exception {
    if (out.size() > 0) out.write(0);
    out.write(text.getBytes("UTF-8"));
  }

  /** The partitions' values in the order of partitionOf, each a JSON array. */
  public String partitionValues(StructType schema) {
    StringBuilder sb = new StringBuilder("[");
    for (int d = 0; d < dirs.size(); d++) {
      if (d > 0) sb.append(',');
      sb.append(ExpressionEncoder.row(((PartitionDirectory) dirs.get(d)).values(), schema));
    }
    return sb.append(']').toString();
  }
}
