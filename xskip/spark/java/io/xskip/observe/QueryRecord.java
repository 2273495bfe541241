package io.xskip.observe;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.SkippingSettings;
import io.xskip.scan.ScanLog;
import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.internal.SQLConf;

/** A SQL execution that ended: its session, its time, and its scans. */
final class QueryRecord implements Json.Value {
  private static final double NANOS_PER_SECOND = 1e9;
  private static final String REDACTION = "spark.sql.redaction.string.regex";

  private final long number;
  private final long execution;
  private final String session;
  private final String history; // the directory of the history, or an empty text
  private final String historyDays;
  private final boolean showsValues;
  private final long endMs;
  private final double seconds;
  private final long lastScanId;
  private final boolean failed;
  private final List<Json.Value> scans;

  QueryRecord(long number, SparkListenerSQLExecutionEnd event, List<Json.Value> scans)
      throws Exception {
    this.number = number;
    this.scans = scans;
    execution = event.executionId();
    session = SparkCompat.sessionId(event.qe().sparkSession());
    SQLConf conf = SparkCompat.conf(event.qe().sparkSession());
    history = SkippingSettings.value(conf, "spark.xskip.history.location", "").trim();
    historyDays = SkippingSettings.value(conf, "spark.xskip.history.days", "");
    showsValues =
        Boolean.parseBoolean(SkippingSettings.value(conf, "spark.xskip.report.values", "").trim())
            && conf.getConfString(REDACTION, "").isEmpty();
    endMs = event.time();
    seconds = event.duration() / NANOS_PER_SECOND;
    lastScanId = ScanLog.lastId();
    failed =
        event.errorMessage().isDefined()
            && !String.valueOf(event.errorMessage().get()).isEmpty(); // empty after a success
  }

  /** Returns whether an execution runs a command, such as CREATE VIEW, and not a query. */
  static boolean isCommand(QueryExecution execution) {
    try {
      return execution.analyzed() instanceof Command || execution.logical() instanceof Command;
    } catch (Throwable t) { // the analysis failed
      return false;
    }
  }

  long number() {
    return number;
  }

  String session() {
    return session;
  }

  @Override
  public void writeTo(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeNumberField("number", number);
    json.writeNumberField("execution", execution);
    json.writeStringField("session", session);
    json.writeStringField("history", history);
    json.writeStringField("history_days", historyDays);
    json.writeBooleanField("shows_values", showsValues);
    json.writeNumberField("ended_ms", endMs);
    json.writeNumberField("seconds", seconds);
    json.writeNumberField("last_scan", lastScanId);
    json.writeBooleanField("failed", failed);
    json.writeArrayFieldStart("scans");
    for (Json.Value scan : scans) {
      scan.writeTo(json);
    }
    json.writeEndArray();
    json.writeEndObject();
  }
}
