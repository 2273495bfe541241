package io.xskip.bridge;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.catalyst.PackedValues;
import io.xskip.catalyst.UdfIdentity;
import io.xskip.common.Bytes;
import io.xskip.common.SkippingSource;
import io.xskip.files.RangeReader;
import io.xskip.observe.PhysicalScans;
import io.xskip.observe.QueryLog;
import io.xskip.protocol.FileTable;
import io.xskip.scan.PruningRequest;
import io.xskip.scan.ScanLog;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.FileSnapshot;
import io.xskip.snapshot.ListedFiles;
import io.xskip.snapshot.SnapshotFiller;
import io.xskip.snapshot.Snapshots;
import java.io.IOException;
import java.nio.file.Files;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.UDFRegistration;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;

/**
 * The methods for queries: the snapshots of indexes, expressions of requests, and counts of scans.
 */
public final class QueryCalls {
  public FileTable files(byte[] packed) {
    return new FileTable(packed);
  }

  /** Returns the files of a snapshot, from a local file in the format of {@link FileTable}. */
  public FileTable filesFrom(String path) throws IOException {
    return files(Files.readAllBytes(java.nio.file.Paths.get(path)));
  }

  /**
   * Registers the snapshot of a metadata directory by its number, which the answers of Python
   * repeat.
   *
   * @param hasParts whether answers can have ranges of files
   */
  public void register(String directory, long token, FileTable files, boolean hasParts) {
    Snapshots.snapshots.put(directory, new FileSnapshot(token, files, hasParts));
  }

  /**
   * Returns a filler for a snapshot whose files come from a Spark job, and which has effect once it
   * is registered.
   */
  public SnapshotFiller filler(long token, int count) {
    return new SnapshotFiller(token, count);
  }

  public void unregister(String directory) {
    Snapshots.snapshots.remove(directory);
  }

  /**
   * Registers a function that reads the parts of files, whose keys NUL separates: see {@link
   * RangeReader}.
   */
  public void registerReader(Object session, String name, String keys, byte[] ranges, int parts)
      throws Exception {
    Object functions = session.getClass().getMethod("udf").invoke(session);
    RangeReader reader = new RangeReader(keys.split("\u0000"), Bytes.longs(ranges), parts);
    ((UDFRegistration) functions).register(name, reader, DataTypes.BinaryType);
  }

  /** Returns an expression of a session in the format of {@link ExpressionEncoder}. */
  public String encode(Object session, Expression expression) throws Exception {
    SQLConf conf = SparkCompat.conf(session);
    return ExpressionEncoder.encode(expression, new ExpressionEvaluator(conf));
  }

  /** Returns a text that distinguishes a Python function from all other functions. */
  public String identity(Object udf) throws Exception {
    Object function = udf.getClass().getMethod("func").invoke(udf);
    return UdfIdentity.digest((PythonFunction) function);
  }

  /**
   * Returns the values of expressions of a request that is being answered, see {@link
   * ExpressionEvaluator#evaluate}.
   */
  public PackedValues evaluate(
      long request, byte[] parts, byte[] states, byte[] numbers, byte[] bytes) {
    return PruningRequest.evaluatorOf(request)
        .evaluate(Bytes.longs(parts), states, Bytes.longs(numbers), bytes);
  }

  /** Returns a digest of all settings of the session whose request is being answered. */
  public String settings(long request) {
    return PruningRequest.evaluatorOf(request).settings();
  }

  /**
   * Returns the spread of a zone's UTC offsets, all in microseconds, see {@link
   * ExpressionEvaluator#offsetSpread}.
   */
  public long offsetSpread(String zone, long low, long high) {
    return ExpressionEvaluator.offsetSpread(zone, low, high);
  }

  public long lastScanId() {
    return ScanLog.lastId();
  }

  /** Returns the records of the requests after a request's number as JSON, oldest first. */
  public String scansAfter(long id) {
    return ScanLog.after(id);
  }

  /** Returns the files of a request's listing, or null if they are no longer known. */
  public ListedFiles listedFiles(long request) {
    return ScanLog.files(request);
  }

  /** Records the executions of the running context, and counts its scans, from now on. */
  public void listen() {
    QueryLog.listen();
    SkippingSource.register();
  }

  /** Counts a scan whose index Python cannot use. */
  public void countFailure() {
    SkippingSource.countFailure();
  }

  /** Waits until all executions that have ended are recorded, and returns the latest number. */
  public long lastQuery() {
    return QueryLog.lastNumber();
  }

  /** Returns the recorded executions of a session after a number as JSON, oldest first. */
  public String queriesAfter(long number, Object session) throws Exception {
    return QueryLog.after(number, session);
  }

  /** Returns the recorded executions of all sessions after a number as JSON, oldest first. */
  public String allQueriesAfter(long number) {
    return QueryLog.after(number);
  }

  /** Returns the latest recorded execution of a session as a JSON array, which can be empty. */
  public String latestQuery(Object session) throws Exception {
    return QueryLog.latest(session);
  }

  /** Returns what all recorded executions of a session have skipped, as JSON. */
  public String savings(Object session) throws Exception {
    return QueryLog.savings(session);
  }

  /**
   * Returns the requests for plans whose files were read since the last call, see {@link
   * ScanLog#takeUsed}.
   *
   * @param waits whether to wait for the records of all executions that have ended
   */
  public String takeUsed(boolean waits) {
    return waits ? QueryLog.takeUsed() : ScanLog.takeUsed();
  }

  public String sessionId(Object session) throws Exception {
    return SparkCompat.sessionId(session);
  }

  /** Returns the scans of a DataFrame's query that ran as JSON. */
  public String executed(Object df) throws Exception {
    return PhysicalScans.executed(df);
  }

  /** Lists the files of a query's scans and returns their counts as JSON. */
  public String explain(Object df) throws Exception {
    return PhysicalScans.explain(df);
  }
}
