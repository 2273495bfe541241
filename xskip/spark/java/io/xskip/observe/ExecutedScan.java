package io.xskip.observe;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.scan.ScanRecord;
import java.io.IOException;
import java.util.List;
import java.util.Set;

/** What a scan of an execution read. It does not refer to the plan, so that the plan can go. */
final class ExecutedScan implements Json.Value {
  private final String path;
  private final String table;
  private final String format;
  private final boolean isIndexed;
  private final String refusal;
  private final String off;
  private final boolean isPartitionFiltered;
  private final long filesRead;
  private final Set<String> runtimeRewrites;
  private final long[] sizes;
  private final List<ScanRecord> records;
  private final List<ScanRecord> questions;
  private final String filters;

  /**
   * Records a scan.
   *
   * @param off why the session's queries read all files, or an empty text
   */
  ExecutedScan(PhysicalScan scan, String off) {
    path = scan.rootPath();
    table = scan.table();
    format = scan.format();
    isIndexed = scan.isIndexed();
    refusal = scan.refusal();
    this.off = off;
    isPartitionFiltered = scan.isPartitionFiltered();
    filesRead = scan.filesRead();
    runtimeRewrites = scan.runtimeRewrites();
    records = scan.records();
    questions = scan.questions();
    filters = off.isEmpty() ? scan.filtersWithoutIndex() : "";
    sizes = isAnswered() ? new long[] {0, 0} : scan.sizes();
  }

  /** Returns the root of the dataset. */
  String dataset() {
    return isAnswered() ? ((ScanRecord) records.get(0)).root() : path;
  }

  /** Returns listed files and bytes, kept files and bytes, and how many nanoseconds xskip took. */
  long[] totals() {
    if (!isAnswered()) {
      return new long[] {sizes[0], sizes[1], sizes[0], sizes[1], 0};
    }
    long nanos = 0;
    for (ScanRecord record : records) {
      nanos += record.nanos();
    }
    // Each index lists what the one before it has kept.
    ScanRecord first = (ScanRecord) records.get(0);
    ScanRecord last = (ScanRecord) records.get(records.size() - 1);
    return new long[] {first.listed(), first.listedBytes(), last.kept(), last.keptBytes(), nanos};
  }

  private boolean isAnswered() {
    return records != null && !records.isEmpty();
  }

  @Override
  public void writeTo(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeStringField("path", path);
    json.writeStringField("table", table);
    json.writeStringField("format", format);
    json.writeBooleanField("is_indexed", isIndexed);
    json.writeBooleanField("is_answered", isAnswered());
    json.writeNumberField("files", sizes[0]);
    json.writeNumberField("bytes", sizes[1]);
    json.writeStringField("refusal", refusal);
    json.writeStringField("off", off);
    json.writeBooleanField("is_partition_filtered", isPartitionFiltered);
    json.writeNumberField("files_read", filesRead);
    json.writeStringField("pruned_by", String.join(", ", runtimeRewrites));
    json.writeStringField("filters", filters);
    json.writeArrayFieldStart("questions");
    for (ScanRecord each : questions) {
      json.writeNumber(each.id());
    }
    json.writeEndArray();
    json.writeArrayFieldStart("requests");
    if (records != null) {
      for (ScanRecord each : records) {
        each.writeTo(json);
      }
    }
    json.writeEndArray();
    json.writeEndObject();
  }
}
