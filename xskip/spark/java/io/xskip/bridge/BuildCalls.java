package io.xskip.bridge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.xskip.collect.FileRelation;
import io.xskip.collect.FooterReader;
import io.xskip.files.FileListing;
import io.xskip.files.HadoopFiles;
import io.xskip.observe.PhysicalScans;
import io.xskip.read.ReaderDescription;
import io.xskip.shims.SparkCompat;
import java.util.Iterator;
import org.apache.spark.sql.internal.SQLConf;

/** The methods for builds: datasets, readers and files. */
public final class BuildCalls {
  /** Clones a session, with some other settings: a JSON object of strings. */
  public Object clonedSession(Object session, String settings) throws Exception {
    Object clone = SparkCompat.cloneSession(session);
    SQLConf conf = SparkCompat.conf(clone);
    JsonNode values = new ObjectMapper().readTree(settings);
    for (Iterator<String> names = values.fieldNames(); names.hasNext(); ) {
      String name = (String) names.next();
      conf.setConfString(name, values.get(name).asText());
    }
    return clone;
  }

  public FileRelation dataset(Object df) throws Exception {
    return new FileRelation(df);
  }

  /** Returns the files that the scans of a query read. */
  public FileListing selected(Object df) throws Exception {
    return PhysicalScans.selected(df);
  }

  /** Returns the schema JSON of a schema in DDL, whose types the settings of a session decide. */
  public String schemaOf(Object session, String ddl) {
    return SparkCompat.schema(session, ddl).json();
  }

  /** Returns the format, options and schema of a DataFrameReader of a session as JSON. */
  public String reader(Object session, Object reader) throws Exception {
    return ReaderDescription.json(reader, SparkCompat.conf(session));
  }

  public HadoopFiles files() {
    return new HadoopFiles();
  }

  /** Reads the footers of Parquet files in several threads. */
  public FooterReader footers(String[] paths, int threads) {
    return new FooterReader(paths, threads);
  }
}
