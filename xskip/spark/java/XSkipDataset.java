package io.xskip.jvm;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
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
}

/** A listing, packed for Python: one entry per file, in the order of the partitions. */
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
  public byte[] sizes() { return XSkipBytes.bytes(sizes); }
  public byte[] times() { return XSkipBytes.bytes(times); }
  public byte[] partitionOf() { return XSkipBytes.bytes(partitions); }
  /** Decoded paths without scheme and authority, parted by NUL. */
  public byte[] names() throws Exception { return joined(0); }
  /** URIs as input_file_name() gives them, parted by NUL. */
  public byte[] uris() throws Exception { return joined(1); }
  /** Full Hadoop paths, parted by NUL. */
  public byte[] paths() throws Exception { return joined(2); }
  private byte[] joined(int form) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream(64 * sizes.length + 16);
    for (int i = 0; i < sizes.length; i++) {
      if (i > 0) out.write(0);
      Path p = ((FileStatus) files.get(i)).getPath();
      String s = form == 0 ? p.toUri().getPath() : form == 1 ? p.toUri().toString() : p.toString();
      out.write(s.getBytes("UTF-8"));
    }
    return out.toByteArray();
  }
  /** The partitions' values in the order of partitionOf, each a JSON array. */
  public String partitionValues(StructType schema) {
    StringBuilder sb = new StringBuilder("[");
    for (int d = 0; d < dirs.size(); d++) {
      if (d > 0) sb.append(',');
      InternalRow row = ((PartitionDirectory) dirs.get(d)).values();
      sb.append('[');
      for (int i = 0; i < schema.length(); i++) {
        if (i > 0) sb.append(',');
        DataType t = schema.apply(i).dataType();
        XSkipEncoder.value(sb, row.isNullAt(i) ? null : row.get(i, t), t);
      }
      sb.append(']');
    }
    return sb.append(']').toString();
  }
}

/** A dataset of files as the user's DataFrame reads it: its listing, and the same reading of some of its files. */
public class XSkipDataset {
  private final LogicalRelation logical; private final HadoopFsRelation relation; private final Object df;
  private XSkipListing listing = null;

  XSkipDataset(Object df) throws Exception {
    this.df = df;
    LogicalPlan plan = XSkipPlans.execution(df).analyzed();
    while (plan.children().length() == 1) {            // aliases, and the projection that pads CHAR columns
      String name = plan.getClass().getSimpleName();
      if (!name.equals("SubqueryAlias") && !name.equals("Project")) break;
      plan = (LogicalPlan) plan.children().head();
    }
    boolean files = plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    logical = files ? (LogicalRelation) plan : null;
    relation = files ? (HadoopFsRelation) logical.relation() : null;
    kind = plan.nodeName();
  }
  private final String kind;
  public boolean isOfFiles() { return relation != null; }
  /** What it is where it is not of files. */
  public String kind() { return kind; }
  public String[] roots() {
    @SEQ@ r = relation.location().rootPaths();
    String[] a = new String[r.length()];
    for (int i = 0; i < a.length; i++) a[i] = r.apply(i).toString();
    return a;
  }
  public XSkipListing listing() {
    if (listing == null) {
      ArrayList dirs = new ArrayList();
      @SEQ@ none = (@SEQ@) (Object) new scala.collection.immutable.VectorBuilder().result();
      for (scala.collection.Iterator it = relation.location().listFiles(none, none).iterator(); it.hasNext();) dirs.add(it.next());
      listing = new XSkipListing(dirs);
    }
    return listing;
  }
  public StructType partitionSchema() { return relation.partitionSchema(); }
  public String partitionSchemaJson() { return relation.partitionSchema().json(); }
  public String partitionValues() { return listing().partitionValues(relation.partitionSchema()); }
  /** {"format":…,"options":{…},"conf":{…},"schema":…} as a query on the same relation would send it. */
  public String reading() {
    XSkipContext c = new XSkipContext(new XSkipSettings(org.apache.spark.sql.internal.SQLConf.get()), new ArrayList(),
        XSkipPlans.format(relation), relation.options(), relation.dataSchema());
    return "{" + c.reading() + "}";
  }
  /** The same relation over the files whose bits are set (little-endian bit order, as the listing counts). */
  public Object subset(byte[] bits) throws Exception {
    ArrayList dirs = listing().dirs, chosen = new ArrayList();
    int at = 0;
    for (int d = 0; d < dirs.size(); d++) {
      PartitionDirectory pd = (PartitionDirectory) dirs.get(d);
      scala.collection.immutable.VectorBuilder b = new scala.collection.immutable.VectorBuilder();
      int n = 0;
      for (scala.collection.Iterator it = pd.files().iterator(); it.hasNext(); at++) {
        Object f = it.next();
        if ((bits[at >>> 3] & (1 << (at & 7))) != 0) { b.$plus$eq(f); n++; }
      }
      if (n > 0) chosen.add(new PartitionDirectory(pd.values(), (@SEQ@) (Object) b.result()));
    }
    HadoopFsRelation r = new HadoopFsRelation(new XSkipSubset(relation.location(), chosen), relation.partitionSchema(),
        relation.dataSchema(), scala.Option.empty(), relation.fileFormat(), relation.options(), relation.sparkSession());
    return rows((LogicalPlan) XSkipPlans.exchange(logical, relation, r));
  }
  /** Dataset.ofRows(session, plan): the companion's class differs between Spark 3 and 4. */
  private Object rows(LogicalPlan plan) throws Exception {
    Class companion = Class.forName(df.getClass().getName() + "$", true, df.getClass().getClassLoader());
    Object module = companion.getField("MODULE$").get(null);
    java.lang.reflect.Method[] ms = companion.getMethods();
    for (int i = 0; i < ms.length; i++) {
      if (ms[i].getName().equals("ofRows") && ms[i].getParameterTypes().length == 2) {
        return ms[i].invoke(module, new Object[]{relation.sparkSession(), plan});
      }
    }
    throw new NoSuchMethodException("Dataset.ofRows");
  }
}

/** A fixed choice of a listing's files. */
class XSkipSubset implements FileIndex {
  private final FileIndex d; private final @SEQ@ dirs; private final ArrayList names = new ArrayList(); private long bytes = 0;
  XSkipSubset(FileIndex d, ArrayList chosen) {
    this.d = d;
    scala.collection.immutable.VectorBuilder b = new scala.collection.immutable.VectorBuilder();
    for (int i = 0; i < chosen.size(); i++) {
      b.$plus$eq(chosen.get(i));
      for (scala.collection.Iterator it = ((PartitionDirectory) chosen.get(i)).files().iterator(); it.hasNext();) {
        FileStatus f = ((FileStatusWithMetadata) it.next()).fileStatus();
        names.add(f.getPath().toString()); bytes += f.getLen();
      }
    }
    this.dirs = (@SEQ@) (Object) b.result();
  }
  public @SEQ@ rootPaths() { return d.rootPaths(); }
  public @SEQ@ listFiles(@SEQ@ pf, @SEQ@ df) { return dirs; }
  public String[] inputFiles() { return (String[]) names.toArray(new String[0]); }
  public void refresh() { }
  public long sizeInBytes() { return bytes; }
  public StructType partitionSchema() { return d.partitionSchema(); }
  public scala.Option metadataOpsTimeNs() { return scala.Option.empty(); }
  public boolean isTimeTravel() { return false; }
}
