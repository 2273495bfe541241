package io.xskip.hook;

import io.xskip.common.SparkCompat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * V1. equals and hashCode delegate: exchange reuse and cached plans compare the relations of
 * canonicalized scans.
 */
public class SkippingFileIndex implements FileIndex {
  final FileIndex d;
  final ScanContext context;

  SkippingFileIndex(FileIndex d, ScanContext context) {
    this.d = d;
    this.context = context;
  }

  public Seq rootPaths() {
    return d.rootPaths();
  }

  public Seq listFiles(Seq pf, Seq df) {
    return HookState.prune(context, d, pf, df);
  }

  public String[] inputFiles() {
    return d.inputFiles();
  }

  public void refresh() {
    d.refresh();
  }

  public long sizeInBytes() {
    return d.sizeInBytes();
  }

  public StructType partitionSchema() {
    return d.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return d.metadataOpsTimeNs();
  }

  public boolean isTimeTravel() {
    return SparkCompat.isTimeTravel(d);
  }

  public boolean equals(Object o) {
    return o instanceof SkippingFileIndex
        && ((SkippingFileIndex) o).d.equals(d)
        && ((SkippingFileIndex) o).context.mixed.equals(context.mixed);
  }

  public int hashCode() {
    return d.hashCode() * 31 + 7;
  }

  public String toString() {
    return "SkippingFileIndex(" + d + ")";
  }
}
