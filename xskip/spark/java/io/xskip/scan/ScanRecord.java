package io.xskip.scan;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.common.SkippingSource;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.ListedFiles;
import io.xskip.snapshot.PruningAnswer;
import java.io.IOException;

/** The counts and times of one pruning request, and the query that it belongs to. */
public final class ScanRecord implements Json.Value {
  /** The keys of the counts, in the order of {@code PruningCounts.all()}. */
  private static final String[] COUNTS = {"listed", "listed_bytes", "known", "kept", "kept_bytes"};

  private static final double NANOS_PER_MILLI = 1e6;

  private final long id;
  private final String root;
  private final String format;
  private final String query;
  private final String session;
  private final long[] counts;
  private final int indexes;
  private final long requestNanos;
  private final long filterNanos;
  private final boolean evaluated;

  /** The name of the rewrite that leaves out files that indexes keep, or an empty text. */
  private final String rewrite;

  private final long unneeded;

  /** The files of the listing, or null after {@link #forgetFiles}. */
  private volatile ListedFiles files;

  /**
   * Creates the record of a request of the current thread.
   *
   * @param id the number of the request
   * @param root the root of the dataset
   * @param format the format of the dataset's files
   * @param session the identifier of the query's session, or an empty text
   * @param answer the answer, which was applied to the listing
   * @param evaluated whether the scan reads no files, because the session only counts them
   * @param requestNanos how long Python took to answer
   * @param filterNanos how long the hook took to filter the listing
   */
  ScanRecord(
      long id,
      String root,
      String format,
      String session,
      PruningAnswer answer,
      boolean evaluated,
      long requestNanos,
      long filterNanos) {
    this.id = id;
    this.root = root;
    this.format = format;
    this.counts = answer.counts().all();
    this.indexes = answer.indexes();
    this.files = answer.files();
    this.requestNanos = requestNanos;
    this.filterNanos = filterNanos;
    this.evaluated = evaluated;
    this.query = currentQuery();
    this.session = session;
    rewrite = "";
    unneeded = 0;
  }

  private ScanRecord(ScanRecord other, String query, long[] counts, String rewrite, long unneeded) {
    id = other.id;
    root = other.root;
    format = other.format;
    this.counts = counts;
    this.rewrite = rewrite;
    this.unneeded = unneeded;
    indexes = other.indexes;
    files = other.files;
    requestNanos = other.requestNanos;
    filterNanos = other.filterNanos;
    evaluated = other.evaluated;
    session = other.session;
    this.query = query;
  }

  /** Returns the record as one of the query of the current thread. */
  ScanRecord ofPresentQuery() {
    return new ScanRecord(this, currentQuery(), counts, rewrite, unneeded);
  }

  /** Returns the record of a scan that reads only the files of a selection. */
  ScanRecord selecting(FileSelection selection) {
    long[] selected = (long[]) counts.clone();
    selected[3] = selection.count();
    selected[4] = selection.bytes();
    return new ScanRecord(this, query, selected, selection.reason(), kept() - selection.count());
  }

  private static String currentQuery() {
    String explain = Explanation.current();
    if (explain != null) {
      return explain;
    }
    String id = SparkCompat.executionId();
    return id == null ? "" : id;
  }

  /** Returns the number of the request. */
  public long id() {
    return id;
  }

  public String root() {
    return root;
  }

  /** Returns the number of the SQL execution, the name of an explain, or an empty text. */
  public String query() {
    return query;
  }

  /** Returns the number of listed files. */
  public long listed() {
    return counts[0];
  }

  /** Returns the sum of the sizes of the listed files. */
  public long listedBytes() {
    return counts[1];
  }

  /** Returns the number of files that the scan reads. */
  public long kept() {
    return counts[3];
  }

  /** Returns the sum of the sizes of the files that the scan reads. */
  public long keptBytes() {
    return counts[4];
  }

  /** Returns whether a rewrite has left out files that the indexes keep. */
  public boolean hasRewrite() {
    return !rewrite.isEmpty();
  }

  /** Returns how many files that the indexes keep a rewrite has left out. */
  long unneeded() {
    return unneeded;
  }

  /** Returns how many indexes the answer is based on. */
  public int indexes() {
    return indexes;
  }

  /** Returns the files of the listing, or null if the record no longer has them. */
  ListedFiles files() {
    return files;
  }

  /** Forgets the files of the listing. */
  void forgetFiles() {
    files = null;
  }

  /** Adds the counts and times to the counters of the process. */
  public void addToCounters() {
    long[] files = {listed(), listed() - kept()};
    long[] bytes = {listedBytes(), listedBytes() - keptBytes()};
    SkippingSource.count(files, bytes, nanos());
  }

  /** Returns how long Python and the hook took, in nanoseconds. */
  public long nanos() {
    return requestNanos + filterNanos;
  }

  @Override
  public void writeTo(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeNumberField("id", id);
    json.writeStringField("root", root);
    json.writeStringField("format", format);
    json.writeStringField("query", query);
    json.writeStringField("session", session);
    for (int i = 0; i < COUNTS.length; i++) {
      json.writeNumberField(COUNTS[i], counts[i]);
    }
    json.writeNumberField("request_ms", requestNanos / NANOS_PER_MILLI);
    json.writeNumberField("filter_ms", filterNanos / NANOS_PER_MILLI);
    json.writeBooleanField("evaluated", evaluated);
    json.writeStringField("rewrite", rewrite);
    json.writeNumberField("unneeded", unneeded);
    json.writeEndObject();
  }
}
