package bench;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;

/** A relation of so many files that need not exist, 100 bytes and one moment each, listed anew at each call or once. */
public class Listing implements FileIndex {
  private final String root; private final int count; private final boolean anew;
  private @SEQ@ listed;
  public Listing(String root, int count, boolean anew) { this.root = root; this.count = count; this.anew = anew; this.listed = list(); }

  private @SEQ@ list() {
    scala.collection.immutable.VectorBuilder b = new scala.collection.immutable.VectorBuilder();
    scala.collection.immutable.Map none = (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty();
    for (int i = 0; i < count; i++) {
      String n = Integer.toString(100000000 + i).substring(1);
      b.$plus$eq(new FileStatusWithMetadata(new FileStatus(100L, false, 1, 1L << 27, 1700000000000L, new Path(root + "/part-" + n + ".parquet")), none));
    }
    scala.collection.immutable.VectorBuilder one = new scala.collection.immutable.VectorBuilder();
    one.$plus$eq(new PartitionDirectory(InternalRow.empty(), (@SEQ@) (Object) b.result()));
    return (@SEQ@) (Object) one.result();
  }
  public @SEQ@ rootPaths() {
    scala.collection.immutable.VectorBuilder b = new scala.collection.immutable.VectorBuilder();
    b.$plus$eq(new Path(root));
    return (@SEQ@) (Object) b.result();
  }
  public @SEQ@ listFiles(@SEQ@ partitions, @SEQ@ data) { return listed; }
  public String[] inputFiles() { return new String[0]; }
  public void refresh() { if (anew) listed = list(); }
  public long sizeInBytes() { return 100L * count; }
  public StructType partitionSchema() { return new StructType(); }
  public scala.Option metadataOpsTimeNs() { return scala.Option.empty(); }
  public boolean isTimeTravel() { return false; }

  /** The relation with these files in the place of its own. */
  public HadoopFsRelation in(HadoopFsRelation r) {
    return new HadoopFsRelation(this, r.partitionSchema(), r.dataSchema(), r.bucketSpec(), r.fileFormat(), r.options(), r.sparkSession());
  }
}
