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
import io.xskip.hook.PlanScans;
import io.xskip.hook.PythonAnswers;
import io.xskip.hook.ReaderOptions;
import io.xskip.hook.RelationRewriter;
import io.xskip.location.IndexDiscovery;
import io.xskip.location.IndexLocations;
import io.xskip.snapshot.FileSnapshot;
import io.xskip.snapshot.FileTable;
import io.xskip.snapshot.SnapshotFiller;
import io.xskip.snapshot.Snapshots;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.sql.UDFRegistration;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import py4j.GatewayServer;
import py4j.Py4JServerConnection;

/**
 * The optimizer rule, and the surface that Python calls. It never throws: on any problem the plan
 * goes on unchanged.
 */
public class SkippingRule extends Rule {
  public LogicalPlan apply(LogicalPlan plan) {
    SkippingSettings settings = null;
    try {
      settings = HookState.settings();
      if (settings == null) return plan;
      if (plan instanceof Command) settings.evaluate = false; // it may write
      return (LogicalPlan) plan.transformDown(new RelationRewriter(settings));
    } catch (Throwable t) {
      HookState.failed("the optimizer rule", t);
      if (settings != null && settings.strict)
        throw new RuntimeException("xskip (strict): " + t, t);
      return plan;
    }
  }

  // Rule is generic and raw here: this is the method that implements Rule.apply, the one above is
  // an overload
  public TreeNode apply(TreeNode p) {
    return apply((LogicalPlan) p);
  }

  public String ruleName() {
    return "io.xskip.bridge.SkippingRule";
  }

  public void declareIndex(String name) {
    KnownClasses.declareIndex(name);
  }

  public void declareFormat(String name) {
    KnownClasses.declareFormat(name);
  }

  public void setCallback(Function f) {
    PythonAnswers.home = Thread.currentThread();
    HookState.callback = f;
  }

  public void setConfKeys(String[] keys, String[] prefixes) {
    HookState.confKeys = keys;
    HookState.confPrefixes = prefixes;
  }

  public String location(String path) {
    return Paths.location(path);
  }

  public String key(String path) {
    return Paths.key(new Path(path));
  }

  /** A digest of all settings of the session whose request is being answered. */
  public String settings(long request) throws Exception {
    return ((ExpressionEvaluator) HookState.asking.get(new Long(request))).settings();
  }

  /**
   * By how many microseconds a zone's offsets differ among themselves between two instants, and two
   * days around.
   */
  public long offsetSpread(String zone, long low, long high) {
    return ExpressionEvaluator.offsetSpread(zone, low, high);
  }

  public String encode(Expression e) {
    return ExpressionEncoder.encode(e, new ExpressionEvaluator());
  }

  /** What tells a function in Python from all others. */
  public String identity(Object udf) throws Exception {
    Object f = udf.getClass().getMethod("func", new Class[0]).invoke(udf, new Object[0]);
    return UdfIdentity.digest((PythonFunction) f);
  }

  /**
   * The values of expressions of a request that is being answered, for values of their columns: see
   * ExpressionEvaluator.
   */
  public PackedValues evaluate(
      long request, byte[] parts, byte[] states, byte[] numbers, byte[] bytes) {
    return ((ExpressionEvaluator) HookState.asking.get(new Long(request)))
        .evaluate(Bytes.longs(parts), states, Bytes.longs(numbers), bytes);
  }

  /** The objects of a snapshot: see FileTable. */
  public FileTable objects(byte[] objects) {
    return new FileTable(objects);
  }

  /** The same, of many, from a local file. */
  public FileTable objectsFrom(String path) throws Exception {
    return objects(Files.readAllBytes(java.nio.file.Paths.get(path, new String[0])));
  }

  public void register(String directory, long token, FileTable objects) {
    Snapshots.snapshots.put(directory, new FileSnapshot(token, objects));
  }

  /**
   * A snapshot of so many objects that a job fills, and that counts from its register(directory)
   * on.
   */
  public SnapshotFiller filling(long token, int objects) {
    return new SnapshotFiller(token, objects);
  }

  /**
   * A function of a session's own that reads parts of files, whose names are parted by NUL: see
   * RangeReader.
   */
  public void parts(Object session, String name, String keys, byte[] told, int parts)
      throws Exception {
    Object functions =
        session.getClass().getMethod("udf", new Class[0]).invoke(session, new Object[0]);
    ((UDFRegistration) functions)
        .register(
            name,
            new RangeReader(keys.split("\u0000"), Bytes.longs(told), parts),
            DataTypes.BinaryType);
  }

  public void unregister(String directory) {
    Snapshots.snapshots.remove(directory);
  }

  /** A setting for sessions that do not have it themselves; null takes it away. */
  public void setProcessWide(String key, String value) {
    if (value == null) SkippingSettings.processWide.remove(key);
    else SkippingSettings.processWide.put(key, value);
  }

  /**
   * Where the metadata of a dataset (its root, or db.table) are from now on; null: where they would
   * be.
   */
  public void choosePlace(String dataset, String directory) {
    if (directory == null) IndexLocations.chosen.remove(dataset);
    else IndexLocations.chosen.put(dataset, directory);
  }

  /** The places of a path, as JSON. */
  public String placesOf(String root) throws Exception {
    return IndexLocations.json(IndexLocations.ofPath(root, new SkippingSettings(SQLConf.get())));
  }

  /** A table, as JSON; null where there is none. */
  public String table(Object session, String name) throws Exception {
    return IndexLocations.table(session, name);
  }

  /** The metadata location in a database's properties, or null. */
  public String databaseLocation(Object session, String name) throws Exception {
    return IndexLocations.ofDatabase(session, name);
  }

  /** Format, options and schema of a DataFrameReader, as JSON. */
  public String reader(Object reader) throws Exception {
    return ReaderOptions.json(reader);
  }

  /** An index was made or dropped: what was remembered of directories counts no more. */
  public void forgetDirectories() {
    IndexDiscovery.forget();
  }

  public String scansAfter(long id) {
    return HookState.scansAfter(id);
  }

  public long lastScanId() {
    return HookState.sequence.get();
  }

  /**
   * py4j's sockets gather small packets: an answer of more than 8 KB would wait some 40 ms for a
   * delayed ACK.
   */
  public void answerAtOnce(Object server) {
    try {
      Field f = GatewayServer.class.getDeclaredField("connections");
      f.setAccessible(true);
      for (Iterator it = ((List) f.get(server)).iterator(); it.hasNext(); ) {
        ((Py4JServerConnection) it.next()).getSocket().setTcpNoDelay(true);
      }
    } catch (Throwable t) {
      /* another kind of server: it is only slower */
    }
  }

  public FileRelation dataset(Object df) throws Exception {
    return new FileRelation(df);
  }

  public String explain(Object df) throws Exception {
    return PlanScans.explain(df);
  }

  public FileListing selected(Object df) throws Exception {
    return PlanScans.selected(df);
  }

  public HadoopFiles files() {
    return new HadoopFiles();
  }

  public FooterReader tails(String[] paths, int threads) {
    return new FooterReader(paths, threads);
  }
}
