package io.xskip.observe;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.files.FileListing;
import io.xskip.scan.Explanation;
import io.xskip.scan.ScanLog;
import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** The scans of a DataFrame's query. Their files are listed without running the query. */
public final class PhysicalScans {
  /** The name of the query in the records of a listing for a plan, which no report shows. */
  private static final String PLANNING = "planning";

  private PhysicalScans() {}

  /**
   * Lists the files of each scan, which asks the indexes as the query would.
   *
   * @return a JSON object with the name of this call in the records of {@link ScanLog} and, for
   *     each scan, its path and format, whether it has an index, whether the index was asked, the
   *     files and bytes that it reads, what the rule does not know in it, and why the session's
   *     queries read all files
   */
  public static String explain(Object df) throws Exception {
    Option<SparkSession> before = SparkCompat.enter(SparkCompat.execution(df).sparkSession());
    try {
      return explainInSession(df);
    } finally {
      SparkCompat.activate(before);
    }
  }

  /**
   * Returns the scans of a DataFrame's query that listed their files when the query ran.
   *
   * @return a JSON array in the form of {@link QueryLog}; empty if the query did not run
   */
  public static String executed(Object df) throws Exception {
    QueryExecution execution = SparkCompat.execution(df);
    String off = SkippingState.reasonOff(execution);
    final List<ExecutedScan> scans = new ArrayList<>();
    for (PhysicalScan scan : PlanWalk.executed(planned(execution))) {
      if (scan.hasRun()) {
        scans.add(new ExecutedScan(scan, off));
      }
    }
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            json.writeStartArray();
            for (ExecutedScan scan : scans) {
              scan.writeTo(json);
            }
            json.writeEndArray();
          }
        });
  }

  private static String explainInSession(Object df) throws Exception {
    String name = "explain-" + ScanLog.lastId() + "-" + Thread.currentThread().getId();
    List<PhysicalScan> scans = PlanWalk.planned(planned(SparkCompat.execution(df)));
    String off = SkippingState.reasonOff(SparkCompat.execution(df));
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    json.writeStringField("query", name);
    json.writeArrayFieldStart("scans");
    Explanation.begin(name);
    try {
      for (PhysicalScan scan : scans) {
        writeScan(scan, off, json);
      }
    } finally {
      Explanation.end();
    }
    json.writeEndArray();
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  /** Returns the plan of a query. Scans of the second data source API list files to be planned. */
  private static SparkPlan planned(QueryExecution execution) {
    Explanation.begin(PLANNING);
    try {
      return execution.executedPlan();
    } finally {
      Explanation.end();
    }
  }

  private static void writeScan(PhysicalScan scan, String off, JsonGenerator json)
      throws IOException {
    scan.forgetListing();
    long before = ScanLog.lastId();
    long[] sizes = scan.listedSizes();
    json.writeStartObject();
    json.writeStringField("path", scan.rootPath());
    json.writeStringField("table", scan.table());
    json.writeStringField("format", scan.format());
    json.writeBooleanField("is_indexed", scan.isIndexed());
    json.writeBooleanField("is_answered", ScanLog.lastId() > before);
    json.writeNumberField("files", sizes[0]);
    json.writeNumberField("bytes", sizes[1]);
    json.writeStringField("refusal", scan.refusal());
    json.writeStringField("off", off);
    json.writeBooleanField("is_partition_filtered", scan.isPartitionFiltered());
    json.writeEndObject();
  }

  /** Returns the files that the scans read. */
  public static FileListing selected(Object df) throws Exception {
    List<PartitionDirectory> directories = new ArrayList<>();
    Option<SparkSession> before = SparkCompat.enter(SparkCompat.execution(df).sparkSession());
    Explanation.begin("files");
    try {
      for (PhysicalScan scan : PlanWalk.planned(SparkCompat.execution(df).executedPlan())) {
        scala.collection.Iterator<PartitionDirectory> iterator = scan.listFiles().iterator();
        while (iterator.hasNext()) {
          directories.add((PartitionDirectory) iterator.next());
        }
      }
    } finally {
      Explanation.end();
      SparkCompat.activate(before);
    }
    return new FileListing(directories, new StructType());
  }
}
