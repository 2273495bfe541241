package io.xskip.hook;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.SparkCompat;
import java.io.IOException;

/** The counts and times of one pruning request, and the query that it belongs to. */
final class ScanRecord implements Json.Value {
  /** The keys of the counts, in the order of {@code PruningCounts.all()}. */
  private static final String[] COUNTS = {"listed", "listed_bytes", "known", "kept", "kept_bytes"};

  private static final double NANOS_PER_MILLI = 1e6;

  private final long id;
  private final String root;
  private final String format;
  private final String query;
  private final long[] counts;
  private final long requestNanos;
  private final long filterNanos;

  /**
   * Creates the record of a request of the current thread.
   *
   * @param id the number of the request
   * @param root the root of the dataset
   * @param counts the files and bytes of the listing
   * @param requestNanos how long Python took to answer
   * @param filterNanos how long the hook took to filter the listing
   */
  ScanRecord(
      long id, String root, String format, long[] counts, long requestNanos, long filterNanos) {
    this.id = id;
    this.root = root;
    this.format = format;
    this.counts = counts;
    this.requestNanos = requestNanos;
    this.filterNanos = filterNanos;
    this.query = currentQuery();
  }

  private static String currentQuery() {
    String explain = ScanLog.currentExplain();
    if (explain != null) {
      return explain;
    }
    try {
      String id = SparkCompat.context().getLocalProperty("spark.sql.execution.id");
      return id == null ? "" : id;
    } catch (Throwable t) { // the context was stopped
      return "";
    }
  }

  long id() {
    return id;
  }

  @Override
  public void writeTo(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeNumberField("id", id);
    json.writeStringField("root", root);
    json.writeStringField("format", format);
    json.writeStringField("query", query);
    for (int i = 0; i < COUNTS.length; i++) {
      json.writeNumberField(COUNTS[i], counts[i]);
    }
    json.writeNumberField("asked_ms", requestNanos / NANOS_PER_MILLI);
    json.writeNumberField("filtered_ms", filterNanos / NANOS_PER_MILLI);
    json.writeEndObject();
  }
}
