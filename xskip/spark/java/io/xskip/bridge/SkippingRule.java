package io.xskip.bridge;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.catalyst.PackedValues;
import io.xskip.catalyst.UdfIdentity;
import io.xskip.collect.FileRelation;
import io.xskip.collect.FooterReader;
import io.xskip.common.Bytes;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.files.FileListing;
import io.xskip.files.HadoopFiles;
import io.xskip.files.RangeReader;
import io.xskip.hook.HookState;
import io.xskip.hook.KnownClasses;
import io.xskip.hook.PhysicalScans;
import io.xskip.hook.PruningRequest;
import io.xskip.hook.ReadSettings;
import io.xskip.hook.ReaderDescription;
import io.xskip.hook.RelationRewriter;
import io.xskip.hook.ScanLog;
import io.xskip.location.CatalogMetadata;
import io.xskip.location.IndexDiscovery;
import io.xskip.location.IndexLocations;
import io.xskip.snapshot.FileSnapshot;
import io.xskip.snapshot.FileTable;
import io.xskip.snapshot.SnapshotFiller;
import io.xskip.snapshot.Snapshots;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.util.List;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.UDFRegistration;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import py4j.GatewayServer;
import py4j.Py4JServerConnection;

/**
 * The optimizer rule, and the methods that Python calls, mostly from {@code
 * xskip.spark.bridge.gateway}. Paths of datasets and metadata are keys of {@link Paths}.
 */
public final class SkippingRule extends PlanRule<LogicalPlan> {

  // The optimizer rule.

  /**
   * Gives skipping file indexes to the indexed relations of a plan. After an error the plan stays
   * as it is, unless the session is in strict mode.
   */
  @Override
  protected LogicalPlan rewrite(LogicalPlan plan) {
    SkippingSettings settings = null;
    try {
      settings = HookState.settings();
      if (settings == null) {
        return plan;
      }
      if (plan instanceof Command) {
        settings.evaluate = false; // a command may write what it reads
      }
      return (LogicalPlan) plan.transformDown(new RelationRewriter(settings));
    } catch (Throwable t) {
      HookState.logFailure("the optimizer rule", t);
      if (settings != null && settings.strict) {
        throw new RuntimeException("xskip (strict): " + t, t);
      }
      return plan;
    }
  }

  @Override
  public String ruleName() {
    return "io.xskip.bridge.SkippingRule";
  }

  // The connection to Python, and settings of the process.

  /** Sets the function in Python that answers pruning requests. */
  public void setCallback(Function<String, byte[]> callback) {
    HookState.setCallback(callback);
  }

  /** Sets the names, and the beginnings of names, of the settings that decide values. */
  public void setConfKeys(String[] keys, String[] prefixes) {
    ReadSettings.setKeys(keys, prefixes);
  }

  /** Sets a value for the sessions that do not set the key themselves; null removes the value. */
  public void setProcessWide(String key, String value) {
    if (value == null) {
      SkippingSettings.processWide.remove(key);
    } else {
      SkippingSettings.processWide.put(key, value);
    }
  }

  /** Declares a class of file indexes whose relations the rule prunes. */
  public void declareIndex(String className) {
    KnownClasses.declareIndex(className);
  }

  /** Declares a class of file formats whose relations the rule prunes. */
  public void declareFormat(String className) {
    KnownClasses.declareFormat(className);
  }

  /**
   * Sets TCP_NODELAY on the connections of a py4j server. The sockets gather small packets: an
   * answer of more than 8 KB would wait some 40 ms for a delayed ACK.
   */
  public void answerAtOnce(Object server) {
    try {
      Field connections = GatewayServer.class.getDeclaredField("connections");
      connections.setAccessible(true);
      for (Object connection : (List<?>) connections.get(server)) {
        ((Py4JServerConnection) connection).getSocket().setTcpNoDelay(true);
      }
    } catch (Throwable t) {
      // Another type of server: its answers are only slower.
    }
  }

  // Paths, and the locations of indexes.

  /** Returns a path as a key. */
  public String key(String path) {
    return Paths.key(new Path(path));
  }

  /** Returns a user's path as a key; without a scheme it is on the default file system. */
  public String location(String path) {
    return Paths.location(path);
  }

  /**
   * Chooses the metadata directory of a dataset for the rest of the process.
   *
   * @param dataset the root of the dataset, or db.table
   * @param directory the metadata directory; null restores the default locations
   */
  public void choosePlace(String dataset, String directory) {
    IndexLocations.choose(dataset, directory);
  }

  /** Returns the possible locations of a path's metadata as JSON. */
  public String placesOf(String root) throws Exception {
    return IndexLocations.json(IndexLocations.ofPath(root, new SkippingSettings(SQLConf.get())));
  }

  /** Returns a table or view of the catalog as JSON, or null if there is none of that name. */
  public String table(Object session, String name) throws Exception {
    return CatalogMetadata.describeTable(session, name);
  }

  /** Returns the metadata location in the properties of a database, or null. */
  public String databaseLocation(Object session, String name) throws Exception {
    return CatalogMetadata.databaseLocation(session, name);
  }

  /** Forgets which directories contain an index, because one was created or dropped. */
  public void forgetDirectories() {
    IndexDiscovery.forget();
  }

  // Snapshots of indexes.

  /** Returns the files of a snapshot, from the format of {@link FileTable}. */
  public FileTable objects(byte[] objects) {
    return new FileTable(objects);
  }

  /** Returns the files of a snapshot, from a local file in the format of {@link FileTable}. */
  public FileTable objectsFrom(String path) throws IOException {
    return objects(Files.readAllBytes(java.nio.file.Paths.get(path)));
  }

  /**
   * Registers the snapshot of a metadata directory.
   *
   * @param token the number of the snapshot, which the answers of Python repeat
   */
  public void register(String directory, long token, FileTable objects) {
    Snapshots.snapshots.put(directory, new FileSnapshot(token, objects));
  }

  /**
   * Returns a filler for a snapshot whose files come from a Spark job. The snapshot has effect once
   * the filler has registered it.
   */
  public SnapshotFiller filling(long token, int objects) {
    return new SnapshotFiller(token, objects);
  }

  /** Removes the snapshot of a metadata directory. */
  public void unregister(String directory) {
    Snapshots.snapshots.remove(directory);
  }

  // Expressions.

  /** Returns an expression in the format of {@link ExpressionEncoder}. */
  public String encode(Expression expression) {
    return ExpressionEncoder.encode(expression, new ExpressionEvaluator());
  }

  /** Returns a text that distinguishes a Python function from all other functions. */
  public String identity(Object udf) throws Exception {
    Object function = udf.getClass().getMethod("func").invoke(udf);
    return UdfIdentity.digest((PythonFunction) function);
  }

  /**
   * Returns the values of expressions of a request that is being answered, for values of their
   * columns: see {@link ExpressionEvaluator#evaluate}.
   */
  public PackedValues evaluate(
      long request, byte[] parts, byte[] states, byte[] numbers, byte[] bytes) {
    return PruningRequest.evaluatorOf(request)
        .evaluate(Bytes.longs(parts), states, Bytes.longs(numbers), bytes);
  }

  /** Returns a digest of all settings of the session whose request is being answered. */
  public String settings(long request) throws Exception {
    return PruningRequest.evaluatorOf(request).settings();
  }

  /**
   * Returns the range of a zone's UTC offsets between two instants, extended by two days on either
   * side; all values are in microseconds.
   */
  public long offsetSpread(String zone, long low, long high) {
    return ExpressionEvaluator.offsetSpread(zone, low, high);
  }

  // Scans of queries.

  /** Returns the number of the latest pruning request. */
  public long lastScanId() {
    return ScanLog.lastId();
  }

  /** Returns the records of the requests after a request's number as JSON, oldest first. */
  public String scansAfter(long id) {
    return ScanLog.after(id);
  }

  /** Lists the files of a query's scans and returns their counts as JSON. */
  public String explain(Object df) throws Exception {
    return PhysicalScans.explain(df);
  }

  /** Returns the files that the scans of a query read. */
  public FileListing selected(Object df) throws Exception {
    return PhysicalScans.selected(df);
  }

  // Datasets and files.

  /** Returns the relation of files that a DataFrame reads. */
  public FileRelation dataset(Object df) throws Exception {
    return new FileRelation(df);
  }

  /** Returns the format, options and schema of a DataFrameReader as JSON. */
  public String reader(Object reader) throws Exception {
    return ReaderDescription.json(reader);
  }

  /** Returns the access to Hadoop's file systems. */
  public HadoopFiles files() {
    return new HadoopFiles();
  }

  /** Reads the footers of Parquet files in several threads. */
  public FooterReader tails(String[] paths, int threads) {
    return new FooterReader(paths, threads);
  }

  /**
   * Registers a function of a session that reads parts of files: see {@link RangeReader}.
   *
   * @param keys the keys of the files, separated by NUL
   * @param ranges the numbers that describe the parts, as little-endian int64
   * @param parts how many parts there are
   */
  public void parts(Object session, String name, String keys, byte[] ranges, int parts)
      throws Exception {
    Object functions = session.getClass().getMethod("udf").invoke(session);
    RangeReader reader = new RangeReader(keys.split("\u0000"), Bytes.longs(ranges), parts);
    ((UDFRegistration) functions).register(name, reader, DataTypes.BinaryType);
  }
}
