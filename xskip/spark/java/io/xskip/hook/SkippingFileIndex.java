package io.xskip.jvm;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.StructType;

/** V1. equals and hashCode delegate: exchange reuse and cached plans compare the relations of canonicalized scans. */
class XSkipFileIndex implements FileIndex {
  final FileIndex d; final XSkipContext context;
  XSkipFileIndex(FileIndex d, XSkipContext context) { this.d = d; this.context = context; }
  public @SEQ@ rootPaths() { return d.rootPaths(); }
  public @SEQ@ listFiles(@SEQ@ pf, @SEQ@ df) { return XSkipHub.prune(context, d, pf, df); }
  public String[] inputFiles() { return d.inputFiles(); }
  public void refresh() { d.refresh(); }
  public long sizeInBytes() { return d.sizeInBytes(); }
  public StructType partitionSchema() { return d.partitionSchema(); }
  public scala.Option metadataOpsTimeNs() { return d.metadataOpsTimeNs(); }
  public boolean isTimeTravel() { return XSkipPlans.isTimeTravel(d); }
  public boolean equals(Object o) {
    return o instanceof XSkipFileIndex && ((XSkipFileIndex) o).d.equals(d) && ((XSkipFileIndex) o).context.mixed.equals(context.mixed);
  }
  public int hashCode() { return d.hashCode() * 31 + 7; }
  public String toString() { return "XSkipFileIndex(" + d + ")"; }
}

/** V2. FileScan wants a PartitioningAwareFileIndex: a subclass whose abstract members delegate. */
class XSkipV2FileIndex extends PartitioningAwareFileIndex {
  final PartitioningAwareFileIndex d; final XSkipContext context;
  // a V2 scan lists twice or more per plan: the last answer of this instance, of which there is one per optimized plan
  private Object[] last = null;
  XSkipV2FileIndex(SparkSession s, PartitioningAwareFileIndex d, XSkipContext context) {
    // an empty map, None and NoopCache: nothing of the superclass' own state is used
    super(s, (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(), scala.Option.empty(),
        org.apache.spark.sql.execution.datasources.NoopCache$.MODULE$);
    this.d = d; this.context = context;
  }
  public PartitionSpec partitionSpec() { return d.partitionSpec(); }
  public StructType partitionSchema() { return d.partitionSchema(); }
  public scala.collection.mutable.LinkedHashMap leafFiles() { return d.leafFiles(); }
  public scala.collection.immutable.Map leafDirToChildrenFiles() { return d.leafDirToChildrenFiles(); }
  public @SEQ@ rootPaths() { return d.rootPaths(); }
  public @SEQ@ allFiles() { return d.allFiles(); }
  public synchronized @SEQ@ listFiles(@SEQ@ pf, @SEQ@ df) {
    String reading;
    try { reading = context.reading(); } catch (Throwable t) { return XSkipHub.prune(context, d, pf, df); }
    if (last != null && last[0].equals(pf) && last[1].equals(df) && last[3].equals(reading)) return (@SEQ@) last[2];
    @SEQ@ r = XSkipHub.prune(context, d, pf, df);
    last = new Object[]{pf, df, r, reading};
    return r;
  }
  public String[] inputFiles() { return d.inputFiles(); }
  public synchronized void refresh() { last = null; d.refresh(); }
  synchronized void refreshAnswer() { last = null; }
  public long sizeInBytes() { return d.sizeInBytes(); }
  public scala.Option metadataOpsTimeNs() { return d.metadataOpsTimeNs(); }
  public boolean equals(Object o) { return o instanceof XSkipV2FileIndex && ((XSkipV2FileIndex) o).d.equals(d); }
  public int hashCode() { return d.hashCode() * 31 + 7; }
  public String toString() { return "XSkipV2FileIndex(" + d + ")"; }
}
