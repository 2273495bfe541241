package io.xskip.hook;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.xskip.common.Bytes;
import io.xskip.common.Paths;
import io.xskip.snapshot.FileTable;
import io.xskip.snapshot.PruningAnswer;
import java.util.ArrayList;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedPredicate;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;
import scala.math.BigDecimal;

/**
 * The files of a dataset as an index knows them, and those of some directories as they were listed:
 * no other directory is looked at. A status is made for the files alone that are asked for.
 */
public class IndexedFileIndex implements FileIndex {
  private final long token;
  private final FileTable objects;
  private final FileIndex listed;
  private final Path root;
  private final String scheme, authority;
  private final byte[] replaced; // a set bit: this ordinal lies in a directory that was listed
  private final StructType partitions;
  private final InternalRow[] values;

  /** listed: the files of the directories that were looked at, null where none was. */
  public IndexedFileIndex(
      long token,
      FileTable objects,
      FileIndex listed,
      String root,
      byte[] replaced,
      StructType partitions)
      throws Exception {
    this.objects = objects;
    this.listed = listed;
    this.replaced = replaced;
    this.partitions = partitions;
    this.token = token;
    this.root = Paths.path(root);
    this.scheme = this.root.toUri().getScheme();
    this.authority =
        this.root.toUri().getAuthority() == null ? "" : this.root.toUri().getAuthority();
    this.values = new InternalRow[objects.partitionValues().length];
    for (int i = 0; i < values.length; i++)
      values[i] = row(objects.partitionValues()[i], partitions);
  }

  public Seq rootPaths() {
    VectorBuilder b = new VectorBuilder();
    b.$plus$eq(root);
    return (Seq) (Object) b.result();
  }

  public Seq listFiles(Seq pf, Seq df) {
    return listFiles(pf, df, null);
  }

  /** The files of the partitions that are wanted, without those that an answer rules out. */
  Seq listFiles(Seq pf, Seq df, PruningAnswer reply) {
    if (reply != null && !reply.isOf(token))
      return reply.filter(listFiles(pf, df, null), partitions);
    VectorBuilder b = new VectorBuilder();
    VectorBuilder[] files = new VectorBuilder[values.length];
    boolean[] wanted = new boolean[values.length];
    for (int i = 0; i < wanted.length; i++) wanted[i] = holds(pf, values[i]);
    scala.collection.immutable.Map none =
        (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty();
    for (int i = 0; i < objects.count(); i++) {
      int p = objects.partition(i);
      if (!wanted[p] || Bytes.isSet(replaced, 0, i)) continue;
      if (reply != null && !reply.keeps(i, objects.length(i))) continue;
      if (files[p] == null) files[p] = new VectorBuilder();
      files[p].$plus$eq(new FileStatusWithMetadata(status(i), none));
    }
    for (int i = 0; i < files.length; i++) {
      if (files[i] != null)
        b.$plus$eq(new PartitionDirectory(values[i], (Seq) (Object) files[i].result()));
    }
    if (listed != null) {
      Seq others = listed.listFiles(pf, df);
      if (reply != null) others = reply.filter(others, partitions);
      for (scala.collection.Iterator it = others.iterator(); it.hasNext(); ) b.$plus$eq(it.next());
    }
    return (Seq) (Object) b.result();
  }

  private FileStatus status(int i) {
    return new FileStatus(
        objects.length(i),
        false,
        1,
        128L << 20,
        objects.time(i),
        new Path(scheme, authority, objects.path(i)));
  }

  private boolean holds(Seq filters, InternalRow row) {
    for (scala.collection.Iterator it = filters.iterator(); it.hasNext(); ) {
      Expression bound =
          (Expression) ((Expression) it.next()).transformDown(new PartitionBinding(partitions));
      if (!new InterpretedPredicate(bound).eval(row)) return false;
    }
    return true;
  }

  public String[] inputFiles() {
    Seq none = (Seq) (Object) new VectorBuilder().result();
    ArrayList names = new ArrayList();
    for (scala.collection.Iterator d = listFiles(none, none).iterator(); d.hasNext(); ) {
      for (scala.collection.Iterator f = ((PartitionDirectory) d.next()).files().iterator();
          f.hasNext(); ) {
        names.add(((FileStatusWithMetadata) f.next()).fileStatus().getPath().toUri().toString());
      }
    }
    return (String[]) names.toArray(new String[0]);
  }

  public void refresh() {
    if (listed != null) listed.refresh();
  }

  public long sizeInBytes() {
    long sum = listed == null ? 0 : listed.sizeInBytes();
    for (int i = 0; i < objects.count(); i++)
      if (!Bytes.isSet(replaced, 0, i)) sum += objects.length(i);
    return sum;
  }

  public StructType partitionSchema() {
    return partitions;
  }

  public scala.Option metadataOpsTimeNs() {
    return scala.Option.empty();
  }

  public boolean isTimeTravel() {
    return false;
  }

  public String toString() {
    return "IndexedFileIndex(" + root + ")";
  }

  /** A relation with these files in the place of its own. */
  public HadoopFsRelation in(HadoopFsRelation r) {
    return new HadoopFsRelation(
        this,
        partitions,
        r.dataSchema(),
        r.bucketSpec(),
        r.fileFormat(),
        r.options(),
        r.sparkSession());
  }

  /** Partition values, from the text in which the hook encodes them. */
  private static InternalRow row(String text, StructType partitions) throws Exception {
    Object[] raw = (Object[]) new ObjectMapper().readValue(text, Object[].class);
    Object[] row = new Object[raw.length];
    for (int i = 0; i < raw.length; i++)
      row[i] = raw[i] == null ? null : value(raw[i], partitions.apply(i).dataType());
    return new GenericInternalRow(row);
  }

  private static Object value(Object raw, DataType t) {
    if (t instanceof StringType) return UTF8String.fromString((String) raw);
    if (t instanceof BooleanType) return raw;
    if (t instanceof ByteType) return new Byte(((Number) raw).byteValue());
    if (t instanceof ShortType) return new Short(((Number) raw).shortValue());
    if (t instanceof IntegerType || t instanceof DateType)
      return new Integer(((Number) raw).intValue());
    if (t instanceof LongType || t instanceof TimestampType || t instanceof TimestampNTZType)
      return new Long(((Number) raw).longValue());
    if (t instanceof FloatType) return new Float(Float.parseFloat((String) raw));
    if (t instanceof DoubleType) return new Double(Double.parseDouble((String) raw));
    if (t instanceof DecimalType) {
      DecimalType d = (DecimalType) t;
      return new Decimal()
          .set(new BigDecimal(new java.math.BigDecimal((String) raw)), d.precision(), d.scale());
    }
    throw new IllegalArgumentException(
        "xskip does not support partition values of type " + t.catalogString());
  }
}
