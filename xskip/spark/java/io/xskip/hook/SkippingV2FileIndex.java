package io.xskip.hook;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** V2. FileScan wants a PartitioningAwareFileIndex: a subclass whose abstract members delegate. */
public class SkippingV2FileIndex extends PartitioningAwareFileIndex {
  final PartitioningAwareFileIndex d;
  final ScanContext context;
  // a V2 scan lists twice or more per plan: the last answer of this instance, of which there is one
  // per optimized plan
  private Object[] last = null;

  SkippingV2FileIndex(SparkSession s, PartitioningAwareFileIndex d, ScanContext context) {
    // an empty map, None and NoopCache: nothing of the superclass' own state is used
    super(
        s,
        (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(),
        scala.Option.empty(),
        NoopCache$.MODULE$);
    this.d = d;
    this.context = context;
  }

  public PartitionSpec partitionSpec() {
    return d.partitionSpec();
  }

  public StructType partitionSchema() {
    return d.partitionSchema();
  }

  public scala.collection.mutable.LinkedHashMap leafFiles() {
    return d.leafFiles();
  }

  public scala.collection.immutable.Map leafDirToChildrenFiles() {
    return d.leafDirToChildrenFiles();
  }

  public Seq rootPaths() {
    return d.rootPaths();
  }

  public Seq allFiles() {
    return d.allFiles();
  }

  public synchronized Seq listFiles(Seq pf, Seq df) {
    String reading;
    try {
      reading = context.reading();
    } catch (Throwable t) {
      return HookState.prune(context, d, pf, df);
    }
    if (last != null && last[0].equals(pf) && last[1].equals(df) && last[3].equals(reading))
      return (Seq) last[2];
    Seq r = HookState.prune(context, d, pf, df);
    last = new Object[] {pf, df, r, reading};
    return r;
  }

  public String[] inputFiles() {
    return d.inputFiles();
  }

  public synchronized void refresh() {
    last = null;
    d.refresh();
  }

  synchronized void refreshAnswer() {
    last = null;
  }

  public long sizeInBytes() {
    return d.sizeInBytes();
  }

  public scala.Option metadataOpsTimeNs() {
    return d.metadataOpsTimeNs();
  }

  public boolean equals(Object o) {
    return o instanceof SkippingV2FileIndex && ((SkippingV2FileIndex) o).d.equals(d);
  }

  public int hashCode() {
    return d.hashCode() * 31 + 7;
  }

  public String toString() {
    return "SkippingV2FileIndex(" + d + ")";
  }
}
