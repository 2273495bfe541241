package io.xskip.scan;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.common.SkippingSettings;
import io.xskip.location.IndexLocation;
import io.xskip.read.ReadProfile;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.internal.SQLConf;

/** An indexed relation of a query: its indexes, how its files are read, and conditions on it. */
public final class ScanContext {
  private static final List<String> COUNTED_FORMATS = Arrays.asList("parquet", "avro", "orc");

  private static final List<String> RANGED_FORMATS = Arrays.asList("parquet", "avro");

  /** The most questions beside one listing. */
  private static final int MAX_QUESTIONS = 8;

  private final SkippingSettings settings;

  /** The settings of the session that runs the query, which can change before Spark reads. */
  private final SQLConf conf;

  private final List<IndexLocation> locations;
  private final ReadProfile profile;

  /** The encoded conditions that Spark does not pass to the scan. */
  private final List<String> conditions = new ArrayList<>();

  /** The records of the latest listing, one for each index; null before the first listing. */
  private volatile List<ScanRecord> latest = null;

  /** The records of requests beside the latest listing, whose answers have not decided it. */
  private final List<ScanRecord> questions = new ArrayList<>();

  /**
   * Whether a listing of this scan is counted: for a query, or after an explanation of the query.
   */
  private final AtomicBoolean isCounted = new AtomicBoolean();

  private final ScanMetrics metrics = new ScanMetrics();
  private ScanPreview preview = null;

  /** Whether tasks can read ranges of the files. */
  private boolean hasRanges;

  /** The expressions of the conditions. */
  private final ExpressionEvaluator evaluator;

  public ScanContext(SkippingSettings settings, List<IndexLocation> locations, ReadProfile profile)
      throws Exception {
    conf = SparkCompat.conf(settings.session);
    evaluator = new ExpressionEvaluator(conf);
    this.settings = settings;
    this.locations = locations;
    this.profile = profile;
    hasRanges = RANGED_FORMATS.contains(profile.format());
  }

  /** Sets whether tasks can read ranges of the files: not by buckets, and by which formats. */
  public void setRanges(boolean hasRanges) {
    this.hasRanges = hasRanges;
  }

  /** Adds a condition that Spark does not pass to the scan. */
  public void addCondition(Expression condition) {
    conditions.add(ExpressionEncoder.encode(condition, evaluator));
  }

  /** Sets the records of the latest listing, beside which there are no questions yet. */
  void setLatest(List<ScanRecord> records) {
    synchronized (questions) {
      questions.clear();
    }
    latest = records;
  }

  /** Adds the record of a request whose answer has not decided the latest listing. */
  void addQuestion(ScanRecord record) {
    record.forgetFiles();
    synchronized (questions) {
      if (questions.size() < MAX_QUESTIONS) {
        questions.add(record);
      }
    }
  }

  /** Returns the records of requests whose answers have not decided the latest listing. */
  public List<ScanRecord> questions() {
    synchronized (questions) {
      return new ArrayList<>(questions);
    }
  }

  /** Returns the records of the latest listing, or null if no listing ended. */
  public List<ScanRecord> latest() {
    return latest;
  }

  /** Marks the scan as counted, and returns whether it was not. */
  public boolean markCounted() {
    return isCounted.compareAndSet(false, true);
  }

  /** Sets how to find out what the scan would list. */
  public void setPreview(ScanPreview preview) {
    this.preview = preview;
  }

  /** Returns the filters that Spark will pass to the scan, or null if they are not known. */
  ListingFilters filters() {
    return preview == null ? null : preview.filters();
  }

  /** Lists the files as the scan would, and returns the records, or null if they are not known. */
  public List<ScanRecord> preview() {
    return preview == null ? null : preview.records();
  }

  public ScanMetrics metrics() {
    return metrics;
  }

  SkippingSettings settings() {
    return settings;
  }

  /** Returns the settings of the session that runs the query, whatever thread lists the files. */
  public SQLConf conf() {
    return conf;
  }

  /** Returns the identifier of the session that runs the query, or an empty text. */
  String sessionId() {
    try {
      return SparkCompat.sessionId(settings.session);
    } catch (Exception e) {
      return "";
    }
  }

  List<IndexLocation> locations() {
    return locations;
  }

  public ReadProfile profile() {
    return profile;
  }

  /** Returns the encoded conditions that Spark does not pass to the scan. */
  public List<String> conditions() {
    return conditions;
  }

  /** Returns whether the query finds all records of the files, as a build does. */
  public boolean readsAllRecords() {
    return COUNTED_FORMATS.contains(profile.format()) && !profile.passesOverRecords(conf);
  }

  /** Returns whether the scan can read ranges of files. */
  public boolean takesRanges() {
    return settings.ranges && hasRanges && !settings.evaluate && !profile.passesOverRecords(conf);
  }

  /** Returns a new evaluator that contains the expressions of the conditions. */
  ExpressionEvaluator newEvaluator() {
    return evaluator.continued();
  }
}
