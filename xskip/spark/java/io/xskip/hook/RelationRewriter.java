package io.xskip.jvm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.types.StructType;

/** transformDown's partial function: V1 LogicalRelation(HadoopFsRelation), V2 DataSourceV2ScanRelation(FileScan).
    A V1 scan is not told of conditions that mix partition and data columns: they are taken from the Filter above it, as are
    those with functions in Python, which Spark evaluates between the two. */
class XSkipReplace extends scala.runtime.AbstractPartialFunction {
  private final XSkipSettings settings;
  XSkipReplace(XSkipSettings settings) { this.settings = settings; }

  public boolean isDefinedAt(Object x) {
    if (x instanceof Filter) return XSkipKnown.isRelation(((Filter) x).child()) || isPython(((Filter) x).child());
    return XSkipKnown.isRelation(x) || XSkipKnown.isScan(x);
  }
  private static boolean isPython(LogicalPlan p) { return p.getClass().getSimpleName().endsWith("EvalPython"); }

  public Object apply(Object x) {
    try {
      if (x instanceof DataSourceV2ScanRelation) return v2((DataSourceV2ScanRelation) x);
      if (x instanceof LogicalRelation) return v1((LogicalRelation) x, null, new ArrayList());
      Filter f = (Filter) x;
      if (isPython(f.child())) return python(f);
      Object child = v1((LogicalRelation) f.child(), f.condition(), new ArrayList());
      return child == f.child() ? f : XSkipPlans.exchange(f, f.child(), child);
    } catch (Throwable t) {
      XSkipHub.failed("the optimizer rule", t);
      if (settings.strict) throw new RuntimeException(t);
      return x;
    }
  }
  public Object applyOrElse(Object x, scala.Function1 orElse) { return isDefinedAt(x) ? apply(x) : orElse.apply(x); }

  private Object v1(LogicalRelation l, Expression condition, List calls) throws Exception {
    HadoopFsRelation r = (HadoopFsRelation) l.relation();
    List places = XSkipDiscovery.places(r.location(), l.catalogTable().isEmpty() ? null : l.catalogTable().get(), settings);
    if (places.isEmpty()) return l;
    XSkipContext c = new XSkipContext(settings, places, XSkipPlans.format(r),
        r.options(), r.dataSchema(), r.partitionSchema(), r.sparkSession());
    if (condition != null) c.mixed = mixed(condition, r.partitionSchema(), c.terms);
    for (int i = 0; i < calls.size(); i++) {
      c.mixed += (c.mixed.length() == 0 ? "" : ",") + XSkipEncoder.encode((Expression) calls.get(i), c.terms);
    }
    HadoopFsRelation n = new HadoopFsRelation(new XSkipFileIndex(r.location(), c), r.partitionSchema(), r.dataSchema(),
        r.bucketSpec(), r.fileFormat(), r.options(), r.sparkSession());
    return XSkipPlans.exchange(l, r, n);
  }
  /** A filter on results of functions in Python, and all below it: where nothing but projections, filters and other such
      functions lies between, the relation is told of the conditions whose columns are its own. */
  private Object python(Filter f) throws Exception {
    ArrayList calls = new ArrayList();                 // conditions, in which results become calls on the way down
    Expression direct = null;
    LogicalPlan p = f;
    for (; isPython(p) || p instanceof Filter || p instanceof Project; p = (LogicalPlan) p.children().head()) {
      if (!p.deterministic()) return f;
      if (isPython(p)) for (int i = 0; i < calls.size(); i++) calls.set(i, ((Expression) calls.get(i)).transformDown(new XSkipCalls(p)));
      if (!(p instanceof Filter)) continue;
      direct = ((Filter) p).condition();
      if (!XSkipKnown.isRelation(((Filter) p).child())) { calls.add(direct); direct = null; }
    }
    if (!XSkipKnown.isRelation(p)) return f;
    LogicalRelation l = (LogicalRelation) p;
    ArrayList own = new ArrayList();
    for (int i = 0; i < calls.size(); i++) if (((Expression) calls.get(i)).references().subsetOf(l.outputSet())) own.add(calls.get(i));
    // the very relation can stand elsewhere in the query, without this filter: it is exchanged below the filter alone
    return f.transformDown(new XSkipOne(l, v1(l, direct, own)));
  }
  /** The conjuncts that name partition columns and others, encoded and joined by commas. */
  private static String mixed(Expression condition, StructType partitions, XSkipTerms terms) {
    if (partitions.length() == 0) return "";
    if (condition instanceof And) {
      String a = mixed(((And) condition).left(), partitions, terms), b = mixed(((And) condition).right(), partitions, terms);
      return a.length() == 0 ? b : b.length() == 0 ? a : a + "," + b;
    }
    List names = Arrays.asList(partitions.fieldNames());
    boolean partition = false, data = false;
    for (scala.collection.Iterator it = condition.references().iterator(); it.hasNext();) {
      if (names.contains(((Attribute) it.next()).name())) partition = true; else data = true;
    }
    return partition && data ? XSkipEncoder.encode(condition, terms) : "";
  }
  private Object v2(DataSourceV2ScanRelation d) throws Exception {
    FileScan s = (FileScan) d.scan();
    PartitioningAwareFileIndex old = s.fileIndex();
    List places = XSkipDiscovery.places(old, null, settings);
    if (places.isEmpty()) return d;
    scala.Product p = (scala.Product) s;          // ParquetScan, OrcScan, CSVScan, JsonScan, TextScan, AvroScan
    Object[] a = new Object[p.productArity()];
    SparkSession session = null;
    Object options = null, schema = null;
    for (int i = 0; i < a.length; i++) {
      a[i] = p.productElement(i);
      if (a[i] instanceof SparkSession) session = (SparkSession) a[i];
      if (a[i] instanceof org.apache.spark.sql.util.CaseInsensitiveStringMap) options = a[i];
      if (schema == null && a[i] instanceof StructType) schema = a[i];  // the data schema is first
    }
    String name = s.getClass().getSimpleName();
    String format = name.endsWith("Scan") ? name.substring(0, name.length() - 4).toLowerCase(java.util.Locale.ROOT) : name;
    XSkipContext c = new XSkipContext(settings, places, format, options, (StructType) schema, old.partitionSchema(), session);
    PartitioningAwareFileIndex n = new XSkipV2FileIndex(session, old, c);
    for (int i = 0; i < a.length; i++) if (a[i] == old) a[i] = n;
    java.lang.reflect.Constructor[] cs = s.getClass().getConstructors();
    for (int i = 0; i < cs.length; i++) {
      if (cs[i].getParameterTypes().length == a.length) return XSkipPlans.exchange(d, s, cs[i].newInstance(a));
    }
    return d;
  }
}

/** Puts the calls of functions in Python back in the place of their results. */
class XSkipCalls extends scala.runtime.AbstractPartialFunction {
  private final java.util.HashMap calls = new java.util.HashMap();   // the result's id -> the call
  XSkipCalls(LogicalPlan eval) {
    scala.Product p = (scala.Product) eval;                        // udfs, their results, child, …
    @SEQ@ udfs = (@SEQ@) p.productElement(0), results = (@SEQ@) p.productElement(1);
    for (int i = 0; i < udfs.length(); i++) calls.put(((Attribute) results.apply(i)).exprId(), udfs.apply(i));
  }
  public boolean isDefinedAt(Object x) { return x instanceof Attribute && calls.containsKey(((Attribute) x).exprId()); }
  public Object apply(Object x) { return calls.get(((Attribute) x).exprId()); }
  public Object applyOrElse(Object x, scala.Function1 orElse) { return isDefinedAt(x) ? apply(x) : orElse.apply(x); }
}

/** Exchanges one node. */
class XSkipOne extends scala.runtime.AbstractPartialFunction {
  private final Object old, neu;
  XSkipOne(Object old, Object neu) { this.old = old; this.neu = neu; }
  public boolean isDefinedAt(Object x) { return x == old; }
  public Object apply(Object x) { return neu; }
  public Object applyOrElse(Object x, scala.Function1 orElse) { return isDefinedAt(x) ? apply(x) : orElse.apply(x); }
}
