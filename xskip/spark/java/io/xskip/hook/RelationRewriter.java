package io.xskip.hook;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import io.xskip.location.IndexDiscovery;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Product;
import scala.runtime.AbstractPartialFunction;

/**
 * transformDown's partial function: V1 LogicalRelation(HadoopFsRelation), V2
 * DataSourceV2ScanRelation(FileScan). A V1 scan is not told of conditions that mix partition and
 * data columns: they are taken from the Filter above it, as are those with functions in Python,
 * which Spark evaluates between the two.
 */
public class RelationRewriter extends AbstractPartialFunction {
  private final SkippingSettings settings;

  public RelationRewriter(SkippingSettings settings) {
    this.settings = settings;
  }

  public boolean isDefinedAt(Object x) {
    if (x instanceof Filter)
      return KnownClasses.isRelation(((Filter) x).child()) || isPython(((Filter) x).child());
    return KnownClasses.isRelation(x) || KnownClasses.isScan(x);
  }

  private static boolean isPython(LogicalPlan p) {
    return p.getClass().getSimpleName().endsWith("EvalPython");
  }

  public Object apply(Object x) {
    try {
      if (x instanceof DataSourceV2ScanRelation) return v2((DataSourceV2ScanRelation) x);
      if (x instanceof LogicalRelation) return v1((LogicalRelation) x, null, new ArrayList());
      Filter f = (Filter) x;
      if (isPython(f.child())) return python(f);
      Object child = v1((LogicalRelation) f.child(), f.condition(), new ArrayList());
      return child == f.child() ? f : SparkCompat.exchange(f, f.child(), child);
    } catch (Throwable t) {
      HookState.failed("the optimizer rule", t);
      if (settings.strict) throw new RuntimeException(t);
      return x;
    }
  }

  public Object applyOrElse(Object x, Function1 orElse) {
    return isDefinedAt(x) ? apply(x) : orElse.apply(x);
  }

  private Object v1(LogicalRelation l, Expression condition, List calls) throws Exception {
    HadoopFsRelation r = (HadoopFsRelation) l.relation();
    List places =
        IndexDiscovery.places(
            r.location(), l.catalogTable().isEmpty() ? null : l.catalogTable().get(), settings);
    if (places.isEmpty()) return l;
    ScanContext c =
        new ScanContext(
            settings,
            places,
            SparkCompat.format(r),
            r.options(),
            r.dataSchema(),
            r.partitionSchema(),
            r.sparkSession());
    if (condition != null) c.mixed = mixed(condition, r.partitionSchema(), c.terms);
    for (int i = 0; i < calls.size(); i++) {
      c.mixed +=
          (c.mixed.length() == 0 ? "" : ",")
              + ExpressionEncoder.encode((Expression) calls.get(i), c.terms);
    }
    HadoopFsRelation n =
        new HadoopFsRelation(
            new SkippingFileIndex(r.location(), c),
            r.partitionSchema(),
            r.dataSchema(),
            r.bucketSpec(),
            r.fileFormat(),
            r.options(),
            r.sparkSession());
    return SparkCompat.exchange(l, r, n);
  }

  /**
   * A filter on results of functions in Python, and all below it: where nothing but projections,
   * filters and other such functions lies between, the relation is told of the conditions whose
   * columns are its own.
   */
  private Object python(Filter f) throws Exception {
    ArrayList calls = new ArrayList(); // conditions, in which results become calls on the way down
    Expression direct = null;
    LogicalPlan p = f;
    for (;
        isPython(p) || p instanceof Filter || p instanceof Project;
        p = (LogicalPlan) p.children().head()) {
      if (!p.deterministic()) return f;
      if (isPython(p))
        for (int i = 0; i < calls.size(); i++)
          calls.set(i, ((Expression) calls.get(i)).transformDown(new CallInlining(p)));
      if (!(p instanceof Filter)) continue;
      direct = ((Filter) p).condition();
      if (!KnownClasses.isRelation(((Filter) p).child())) {
        calls.add(direct);
        direct = null;
      }
    }
    if (!KnownClasses.isRelation(p)) return f;
    LogicalRelation l = (LogicalRelation) p;
    ArrayList own = new ArrayList();
    for (int i = 0; i < calls.size(); i++)
      if (((Expression) calls.get(i)).references().subsetOf(l.outputSet())) own.add(calls.get(i));
    // the very relation can stand elsewhere in the query, without this filter: it is exchanged
    // below the filter alone
    return f.transformDown(new ConditionSplit(l, v1(l, direct, own)));
  }

  /** The conjuncts that name partition columns and others, encoded and joined by commas. */
  private static String mixed(
      Expression condition, StructType partitions, ExpressionEvaluator terms) {
    if (partitions.length() == 0) return "";
    if (condition instanceof And) {
      String a = mixed(((And) condition).left(), partitions, terms),
          b = mixed(((And) condition).right(), partitions, terms);
      return a.length() == 0 ? b : b.length() == 0 ? a : a + "," + b;
    }
    List names = Arrays.asList(partitions.fieldNames());
    boolean partition = false, data = false;
    for (scala.collection.Iterator it = condition.references().iterator(); it.hasNext(); ) {
      if (names.contains(((Attribute) it.next()).name())) partition = true;
      else data = true;
    }
    return partition && data ? ExpressionEncoder.encode(condition, terms) : "";
  }

  private Object v2(DataSourceV2ScanRelation d) throws Exception {
    FileScan s = (FileScan) d.scan();
    PartitioningAwareFileIndex old = s.fileIndex();
    List places = IndexDiscovery.places(old, null, settings);
    if (places.isEmpty()) return d;
    Product p = (Product) s; // ParquetScan, OrcScan, CSVScan, JsonScan, TextScan, AvroScan
    Object[] a = new Object[p.productArity()];
    SparkSession session = null;
    Object options = null, schema = null;
    for (int i = 0; i < a.length; i++) {
      a[i] = p.productElement(i);
      if (a[i] instanceof SparkSession) session = (SparkSession) a[i];
      if (a[i] instanceof CaseInsensitiveStringMap) options = a[i];
      if (schema == null && a[i] instanceof StructType) schema = a[i]; // the data schema is first
    }
    String name = s.getClass().getSimpleName();
    String format =
        name.endsWith("Scan")
            ? name.substring(0, name.length() - 4).toLowerCase(Locale.ROOT)
            : name;
    ScanContext c =
        new ScanContext(
            settings, places, format, options, (StructType) schema, old.partitionSchema(), session);
    PartitioningAwareFileIndex n = new SkippingV2FileIndex(session, old, c);
    for (int i = 0; i < a.length; i++) if (a[i] == old) a[i] = n;
    Constructor[] cs = s.getClass().getConstructors();
    for (int i = 0; i < cs.length; i++) {
      if (cs[i].getParameterTypes().length == a.length)
        return SparkCompat.exchange(d, s, cs[i].newInstance(a));
    }
    return d;
  }
}
