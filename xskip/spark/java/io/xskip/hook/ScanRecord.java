package io.xskip.hook;

import io.xskip.common.Json;
import io.xskip.common.SparkCompat;

/** What happened to one listing: counts, and the query that it belongs to. */
public class ScanRecord {
  final long id;
  private final String root, format, query;
  private final long[] counts;
  private final long askedNs, filteredNs;

  ScanRecord(long id, String root, String format, long[] counts, long askedNs, long filteredNs) {
    this.id = id;
    this.root = root;
    this.format = format;
    this.counts = counts;
    this.askedNs = askedNs;
    this.filteredNs = filteredNs;
    this.query = query();
  }

  private static String query() {
    if (HookState.purpose.get() != null) return (String) HookState.purpose.get();
    try {
      String e = SparkCompat.context().getLocalProperty("spark.sql.execution.id");
      return e == null ? "" : e;
    } catch (Throwable t) {
      return "";
    }
  }

  void json(StringBuilder sb) {
    sb.append("{\"id\":").append(id).append(",\"root\":");
    Json.string(sb, root);
    sb.append(",\"format\":");
    Json.string(sb, format);
    sb.append(",\"query\":");
    Json.string(sb, query);
    String[] names = {"listed", "listed_bytes", "known", "kept", "kept_bytes"};
    for (int i = 0; i < names.length; i++)
      sb.append(",\"").append(names[i]).append("\":").append(counts[i]);
    sb.append(",\"asked_ms\":")
        .append(askedNs / 1e6)
        .append(",\"filtered_ms\":")
        .append(filteredNs / 1e6)
        .append('}');
  }
}
