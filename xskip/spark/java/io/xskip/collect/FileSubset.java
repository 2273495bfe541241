package io.xskip.collect;

import java.util.ArrayList;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/** A fixed choice of a listing's files. */
public class FileSubset implements FileIndex {
  private final FileIndex d;
  private final Seq dirs;
  private final ArrayList names = new ArrayList();
  private long bytes = 0;

  FileSubset(FileIndex d, ArrayList chosen) {
    this.d = d;
    VectorBuilder b = new VectorBuilder();
    for (int i = 0; i < chosen.size(); i++) {
      b.$plus$eq(chosen.get(i));
      for (scala.collection.Iterator it = ((PartitionDirectory) chosen.get(i)).files().iterator();
          it.hasNext(); ) {
        FileStatus f = ((FileStatusWithMetadata) it.next()).fileStatus();
        names.add(f.getPath().toString());
        bytes += f.getLen();
      }
    }
    this.dirs = (Seq) (Object) b.result();
  }

  public Seq rootPaths() {
    return d.rootPaths();
  }

  public Seq listFiles(Seq pf, Seq df) {
    return dirs;
  }

  public String[] inputFiles() {
    return (String[]) names.toArray(new String[0]);
  }

  public void refresh() {}

  public long sizeInBytes() {
    return bytes;
  }

  public StructType partitionSchema() {
    return d.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return scala.Option.empty();
  }

  public boolean isTimeTravel() {
    return false;
  }
}
