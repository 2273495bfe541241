package io.xskip.jvm;

import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.internal.SQLConf;

/** The optimizer rule, and the surface that Python calls. It never throws: on any problem the plan goes on unchanged. */
public class XSkipRule extends Rule {
  public LogicalPlan apply(LogicalPlan plan) {
    XSkipSettings settings = null;
    try {
      settings = XSkipHub.settings();
      if (settings == null) return plan;
      if (plan instanceof org.apache.spark.sql.catalyst.plans.logical.Command) settings.evaluate = false;   // it may write
      return (LogicalPlan) plan.transformDown(new XSkipReplace(settings));
    } catch (Throwable t) {
      XSkipHub.failed("the optimizer rule", t);
      if (settings != null && settings.strict) throw new RuntimeException("xskip (strict): " + t, t);
      return plan;
    }
  }
  // Rule is generic and raw here: this is the method that implements Rule.apply, the one above is an overload
  public TreeNode apply(TreeNode p) { return apply((LogicalPlan) p); }
  public String ruleName() { return "io.xskip.jvm.XSkipRule"; }

  public void declareIndex(String name) { XSkipKnown.declareIndex(name); }
  public void declareFormat(String name) { XSkipKnown.declareFormat(name); }
  public void setCallback(Function f) { XSkipAnswers.home = Thread.currentThread(); XSkipHub.callback = f; }
  public void setConfKeys(String[] keys, String[] prefixes) { XSkipHub.confKeys = keys; XSkipHub.confPrefixes = prefixes; }
  public String location(String path) { return XSkipHub.location(path); }
  public String key(String path) { return XSkipHub.key(new Path(path)); }
  /** A digest of all settings of the session whose request is being answered. */
  public String settings(long request) throws Exception { return ((XSkipTerms) XSkipHub.asking.get(new Long(request))).settings(); }
  /** By how many microseconds a zone's offsets differ among themselves between two instants, and two days around. */
  public long offsetSpread(String zone, long low, long high) { return XSkipTerms.offsetSpread(zone, low, high); }
  public String encode(Expression e) { return XSkipEncoder.encode(e, new XSkipTerms()); }
  /** What tells a function in Python from all others. */
  public String identity(Object udf) throws Exception {
    Object f = udf.getClass().getMethod("func", new Class[0]).invoke(udf, new Object[0]);
    return XSkipFunctions.digest((org.apache.spark.api.python.PythonFunction) f);
  }
  /** The values of expressions of a request that is being answered, for values of their columns: see XSkipTerms. */
  public XSkipValues evaluate(long request, byte[] parts, byte[] states, byte[] numbers, byte[] bytes) {
    return ((XSkipTerms) XSkipHub.asking.get(new Long(request)))
        .evaluate(XSkipBytes.longs(parts), states, XSkipBytes.longs(numbers), bytes);
  }

  /** The objects of a snapshot: see XSkipObjects. */
  public XSkipObjects objects(byte[] objects) { return new XSkipObjects(objects); }
  /** The same, of many, from a local file. */
  public XSkipObjects objectsFrom(String path) throws Exception {
    return objects(java.nio.file.Files.readAllBytes(java.nio.file.Paths.get(path, new String[0])));
  }
  public void register(String directory, long token, XSkipObjects objects) {
    XSkipHub.snapshots.put(directory, new XSkipSnapshot(token, objects));
  }
  /** A snapshot of so many objects that a job fills, and that counts from its register(directory) on. */
  public XSkipFilling filling(long token, int objects) { return new XSkipFilling(token, objects); }
  /** A function of a session's own that reads parts of files, whose names are parted by NUL: see XSkipParts. */
  public void parts(Object session, String name, String keys, byte[] told, int parts) throws Exception {
    Object functions = session.getClass().getMethod("udf", new Class[0]).invoke(session, new Object[0]);
    ((org.apache.spark.sql.UDFRegistration) functions).register(
        name, new XSkipParts(keys.split("\u0000"), XSkipBytes.longs(told), parts), org.apache.spark.sql.types.DataTypes.BinaryType);
  }
  public void unregister(String directory) { XSkipHub.snapshots.remove(directory); }
  /** A setting for sessions that do not have it themselves; null takes it away. */
  public void setProcessWide(String key, String value) {
    if (value == null) XSkipHub.processWide.remove(key); else XSkipHub.processWide.put(key, value);
  }
  /** Where the metadata of a dataset (its root, or db.table) are from now on; null: where they would be. */
  public void choosePlace(String dataset, String directory) {
    if (directory == null) XSkipPlaces.chosen.remove(dataset); else XSkipPlaces.chosen.put(dataset, directory);
  }
  /** The places of a path, as JSON. */
  public String placesOf(String root) throws Exception { return XSkipPlaces.json(XSkipPlaces.ofPath(root, new XSkipSettings(SQLConf.get()))); }
  /** A table, as JSON; null where there is none. */
  public String table(Object session, String name) throws Exception { return XSkipPlaces.table(session, name); }
  /** The metadata location in a database's properties, or null. */
  public String databaseLocation(Object session, String name) throws Exception { return XSkipPlaces.ofDatabase(session, name); }
  /** Format, options and schema of a DataFrameReader, as JSON. */
  public String reader(Object reader) throws Exception { return XSkipReader.json(reader); }
  /** An index was made or dropped: what was remembered of directories counts no more. */
  public void forgetDirectories() { XSkipDiscovery.forget(); }
  public String scansAfter(long id) { return XSkipHub.scansAfter(id); }
  public long lastScanId() { return XSkipHub.sequence.get(); }
  /** py4j's sockets gather small packets: an answer of more than 8 KB would wait some 40 ms for a delayed ACK. */
  public void answerAtOnce(Object server) {
    try {
      java.lang.reflect.Field f = py4j.GatewayServer.class.getDeclaredField("connections");
      f.setAccessible(true);
      for (java.util.Iterator it = ((java.util.List) f.get(server)).iterator(); it.hasNext();) {
        ((py4j.Py4JServerConnection) it.next()).getSocket().setTcpNoDelay(true);
      }
    } catch (Throwable t) { /* another kind of server: it is only slower */ }
  }
  public XSkipDataset dataset(Object df) throws Exception { return new XSkipDataset(df); }
  public String explain(Object df) throws Exception { return XSkipPlans.explain(df); }
  public XSkipListing selected(Object df) throws Exception { return XSkipPlans.selected(df); }
  public XSkipFiles files() { return new XSkipFiles(); }
  public XSkipTails tails(String[] paths, int threads) { return new XSkipTails(paths, threads); }
}
