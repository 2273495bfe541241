package io.xskip.observe;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The sums of what the queries of each session have read and skipped, by dataset. */
final class SavingsLog {
  private static final int MAX_SESSIONS = 256;

  /** The number of datasets of a session; further ones count together under an empty name. */
  private static final int MAX_DATASETS = 1000;

  /** The keys of the sums, in their order. */
  private static final String[] SUMS = {"scans", "files", "bytes", "kept", "kept_bytes", "nanos"};

  private static final Map<String, SavingsLog> SESSIONS = new LinkedHashMap<>();

  private final Map<String, long[]> datasets = new LinkedHashMap<>();
  private long queries = 0;
  private long firstMs = 0;

  private SavingsLog() {}

  /** Adds the scans of a query that ended. */
  static synchronized void add(String session, long endMs, List<Json.Value> scans) {
    SavingsLog log = (SavingsLog) SESSIONS.remove(session);
    if (log == null) {
      log = new SavingsLog();
      log.firstMs = endMs;
    }
    SESSIONS.put(session, log);
    if (SESSIONS.size() > MAX_SESSIONS) {
      SESSIONS.remove(SESSIONS.keySet().iterator().next());
    }
    log.queries++;
    for (Json.Value scan : scans) {
      log.addScan((ExecutedScan) scan);
    }
  }

  private void addScan(ExecutedScan scan) {
    String dataset = scan.dataset();
    if (!datasets.containsKey(dataset) && datasets.size() >= MAX_DATASETS) {
      dataset = "";
    }
    long[] sums = (long[]) datasets.get(dataset);
    if (sums == null) {
      sums = new long[SUMS.length];
      datasets.put(dataset, sums);
    }
    long[] more = scan.totals();
    sums[0]++;
    for (int i = 0; i < more.length; i++) {
      sums[i + 1] += more[i];
    }
  }

  /**
   * Returns the sums of a session as a JSON object: {@code queries}, {@code first_ms}, and a list
   * of {@code datasets} with {@code dataset} and the sums.
   */
  static synchronized String of(String session) {
    SavingsLog log = (SavingsLog) SESSIONS.get(session);
    final SavingsLog found = log == null ? new SavingsLog() : log;
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            found.write(json);
          }
        });
  }

  private void write(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeNumberField("queries", queries);
    json.writeNumberField("first_ms", firstMs);
    json.writeArrayFieldStart("datasets");
    for (Map.Entry<String, long[]> entry : datasets.entrySet()) {
      long[] sums = (long[]) entry.getValue();
      json.writeStartObject();
      json.writeStringField("dataset", (String) entry.getKey());
      for (int i = 0; i < SUMS.length; i++) {
        json.writeNumberField(SUMS[i], sums[i]);
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }
}
