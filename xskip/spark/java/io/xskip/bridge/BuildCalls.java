package io.xskip.bridge;

import io.xskip.collect.FileRelation;
import io.xskip.collect.FooterReader;
import io.xskip.files.FileListing;
import io.xskip.files.HadoopFiles;
import io.xskip.hook.PhysicalScans;
import io.xskip.hook.ReaderDescription;
import io.xskip.quixlake.SegmentRelations;

/** The methods for builds: datasets, readers and files. */
public final class BuildCalls {
  /** Returns the relation of files that a DataFrame reads. */
  public FileRelation dataset(Object df) throws Exception {
    return new FileRelation(df);
  }

  /** Returns the files that the scans of a query read. */
  public FileListing selected(Object df) throws Exception {
    return PhysicalScans.selected(df);
  }

  /** Returns the format, options and schema of a DataFrameReader as JSON. */
  public String reader(Object reader) throws Exception {
    return ReaderDescription.json(reader);
  }

  /** Returns the access to Hadoop's file systems. */
  public HadoopFiles files() {
    return new HadoopFiles();
  }

  /** Reads the footers of Parquet files in several threads. */
  public FooterReader footers(String[] paths, int threads) {
    return new FooterReader(paths, threads);
  }

  /** Returns the methods for relations of segments of a Quix Lake. */
  public SegmentRelations segments() {
    return new SegmentRelations();
  }
}
