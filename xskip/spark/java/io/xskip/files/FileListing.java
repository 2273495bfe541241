package io.xskip.jvm;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Packed numbers. */
class XSkipBytes {
  static long[] longs(byte[] b) {
    long[] r = new long[b.length / 8];
    ByteBuffer.wrap(b).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(r);
    return r;
  }
  static byte[] bytes(long[] v) {
    ByteBuffer b = ByteBuffer.allocate(v.length * 8).order(ByteOrder.LITTLE_ENDIAN);
    b.asLongBuffer().put(v);
    return b.array();
  }
  /** A bit of some that begin at a byte, the lowest of each byte first. */
  static boolean isSet(byte[] bits, int from, int i) { return (bits[from + (i >>> 3)] & 1 << (i & 7)) != 0; }
  /** In base 64: what py4j itself does to bytes takes Python a step for each of them. */
  static String text(byte[] b) { return java.util.Base64.getEncoder().encodeToString(b); }
}

/** A listing, packed for Python in base 64: one entry per file, in the order of the partitions. */
public class XSkipListing {
  final ArrayList files = new ArrayList(), dirs;
  private final long[] sizes, times, partitions;
  XSkipListing(ArrayList dirs) {
    this.dirs = dirs;
    ArrayList of = new ArrayList();
    for (int d = 0; d < dirs.size(); d++) {
      for (scala.collection.Iterator it = ((PartitionDirectory) dirs.get(d)).files().iterator(); it.hasNext();) {
        files.add(((FileStatusWithMetadata) it.next()).fileStatus());
        of.add(new Integer(d));
      }
    }
    sizes = new long[files.size()]; times = new long[files.size()]; partitions = new long[files.size()];
    for (int i = 0; i < sizes.length; i++) {
      FileStatus f = (FileStatus) files.get(i);
      sizes[i] = f.getLen(); times[i] = f.getModificationTime(); partitions[i] = ((Integer) of.get(i)).intValue();
    }
  }
  public int count() { return sizes.length; }
  public String sizes() { return XSkipBytes.text(XSkipBytes.bytes(sizes)); }
  public String times() { return XSkipBytes.text(XSkipBytes.bytes(times)); }
  public String partitionOf() { return XSkipBytes.text(XSkipBytes.bytes(partitions)); }
  /** Decoded paths without scheme and authority, parted by NUL. */
  public String names() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream(64 * sizes.length + 16);
    for (int i = 0; i < sizes.length; i++) add(out, path(i).toUri().getPath());
    return XSkipBytes.text(out.toByteArray());
  }
  /** Full Hadoop paths of the files at some positions, parted by NUL. */
  public String paths(byte[] positions) throws Exception {
    long[] p = XSkipBytes.longs(positions);
    ByteArrayOutputStream out = new ByteArrayOutputStream(64 * p.length + 16);
    for (int i = 0; i < p.length; i++) add(out, path((int) p[i]).toString());
    return XSkipBytes.text(out.toByteArray());
  }
  private Path path(int i) { return ((FileStatus) files.get(i)).getPath(); }
  private static void add(ByteArrayOutputStream out, String text) throws Exception {
    if (out.size() > 0) out.write(0);
    out.write(text.getBytes("UTF-8"));
  }
  /** The partitions' values in the order of partitionOf, each a JSON array. */
  public String partitionValues(StructType schema) {
    StringBuilder sb = new StringBuilder("[");
    for (int d = 0; d < dirs.size(); d++) {
      if (d > 0) sb.append(',');
      sb.append(json(((PartitionDirectory) dirs.get(d)).values(), schema));
    }
    return sb.append(']').toString();
  }
  static String json(InternalRow row, StructType schema) {
    StringBuilder sb = new StringBuilder("[");
    for (int i = 0; i < schema.length(); i++) {
      if (i > 0) sb.append(',');
      DataType t = schema.apply(i).dataType();
      XSkipEncoder.value(sb, row.isNullAt(i) ? null : row.get(i, t), t);
    }
    return sb.append(']').toString();
  }
}

