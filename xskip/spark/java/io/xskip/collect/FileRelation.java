package io.xskip.jvm;

import java.util.ArrayList;
import java.util.HashSet;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.Partition;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A dataset of files as the user's DataFrame reads it: its listing, and the same reading of some of its files. */
public class XSkipDataset {
  private final LogicalRelation logical; private final HadoopFsRelation relation; private final Object df;
  private XSkipListing listing = null;

  XSkipDataset(Object df) throws Exception {
    this.df = df;
    LogicalPlan plan = XSkipPlans.execution(df).analyzed();
    while (plan.children().length() == 1) {            // aliases, and the projection that pads CHAR columns
      String name = plan.getClass().getSimpleName();
      if (!name.equals("SubqueryAlias") && !name.equals("Project")) break;
      plan = (LogicalPlan) plan.children().head();
    }
    boolean files = plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    String refused = files ? XSkipKnown.refusal((HadoopFsRelation) ((LogicalRelation) plan).relation()) : plan.nodeName();
    logical = refused == null ? (LogicalRelation) plan : null;
    relation = refused == null ? (HadoopFsRelation) logical.relation() : null;
    kind = refused;
  }
  private final String kind;
  public boolean isOfFiles() { return relation != null; }
  /** What it is where it is not of files. */
  public String kind() { return kind; }
  public String[] roots() {
    @SEQ@ r = relation.location().rootPaths();
    String[] a = new String[r.length()];
    for (int i = 0; i < a.length; i++) a[i] = r.apply(i).toString();
    return a;
  }
  /** Where the metadata may be: the table's places, where it is one, then those of its root. */
  public String places() throws Exception {
    XSkipPlaces.forget();                              // a build looks for itself
    XSkipSettings settings = new XSkipSettings(org.apache.spark.sql.internal.SQLConf.get());
    ArrayList found = new ArrayList();
    CatalogTable table = logical.catalogTable().isEmpty() ? null : (CatalogTable) logical.catalogTable().get();
    if (table != null) found.addAll(XSkipPlaces.ofTable(table, settings));
    if (table != null && XSkipPlaces.isChosen(table)) return XSkipPlaces.json(found);
    found.addAll(XSkipPlaces.ofPath(XSkipHub.key((org.apache.hadoop.fs.Path) relation.location().rootPaths().apply(0)), settings));
    if (table != null) found.addAll(XSkipPlaces.byName(table, settings));
    return XSkipPlaces.json(found);
  }
  /** Its relation with the files that an index knows in the place of its own; its own, where asked for, come in addition. */
  public HadoopFsRelation trusting(long token, XSkipObjects objects, String root, byte[] replaced, String partitions, boolean own) throws Exception {
    StructType schema = partitions.length() == 0 ? new StructType() : StructType.fromDDL(partitions);
    return new XSkipTrustedIndex(token, objects, own ? relation.location() : null, root, replaced, schema).in(relation);
  }
  public XSkipListing listing() {
    if (listing == null) {
      ArrayList dirs = new ArrayList();
      @SEQ@ none = (@SEQ@) (Object) new scala.collection.immutable.VectorBuilder().result();
      for (scala.collection.Iterator it = relation.location().listFiles(none, none).iterator(); it.hasNext();) dirs.add(it.next());
      listing = new XSkipListing(dirs);
    }
    return listing;
  }
  public StructType partitionSchema() { return relation.partitionSchema(); }
  public String partitionSchemaJson() { return relation.partitionSchema().json(); }
  public String partitionValues() { return listing().partitionValues(relation.partitionSchema()); }
  /** {"format":…,"options":{…},"conf":{…},"schema":…} as a query on the same relation would send it. */
  public String reading() throws Exception {
    XSkipContext c = new XSkipContext(new XSkipSettings(org.apache.spark.sql.internal.SQLConf.get()), new ArrayList(),
        XSkipPlans.format(relation), relation.options(), relation.dataSchema(), relation.partitionSchema(), relation.sparkSession());
    return "{" + c.reading() + "}";
  }
  /** The one expression that a DataFrame selects, as filters have it after optimization. */
  public String expression(Object df) throws Exception { return XSkipPlans.expression(df); }
  /** The name of the column that subset() adds: the file's ordinal in the listing, as a partition's value. */
  public static final String ORDINAL = "__xskip_object";

  /** The same relation over the files whose bits are set (little-endian bit order, as the listing counts). */
  public Object subset(byte[] bits) throws Exception {
    ArrayList dirs = listing().dirs, chosen = new ArrayList();
    StructType partitions = relation.partitionSchema();
    int width = partitions.length(), at = 0;
    for (int d = 0; d < dirs.size(); d++) {
      PartitionDirectory pd = (PartitionDirectory) dirs.get(d);
      for (scala.collection.Iterator it = pd.files().iterator(); it.hasNext(); at++) {
        Object f = it.next();
        if (!XSkipBytes.isSet(bits, 0, at)) continue;
        Object[] values = new Object[width + 1];
        for (int i = 0; i < width; i++) {
          values[i] = pd.values().isNullAt(i) ? null : pd.values().get(i, partitions.apply(i).dataType());
        }
        values[width] = new Integer(at);
        scala.collection.immutable.VectorBuilder one = new scala.collection.immutable.VectorBuilder();
        one.$plus$eq(f);
        chosen.add(new PartitionDirectory(new GenericInternalRow(values), (@SEQ@) (Object) one.result()));
      }
    }
    HadoopFsRelation r = new HadoopFsRelation(new XSkipSubset(relation.location(), chosen),
        partitions.add(ORDINAL, org.apache.spark.sql.types.DataTypes.IntegerType), asStored(relation.dataSchema()),
        scala.Option.empty(), relation.fileFormat(), whole(relation.options()), relation.sparkSession());
    return rows(org.apache.spark.sql.execution.datasources.LogicalRelation$.MODULE$.apply(r, false));
  }
  /** Options under which a reader fails on what it cannot read: a build that passed over it would take it for empty. */
  private static scala.collection.immutable.Map whole(scala.collection.immutable.Map options) {
    String[] passing = {"ignoreCorruptFiles", "false", "ignoreMissingFiles", "false", "parquet.read.bad.record.threshold", "0",
        "orc.skip.corrupt.data", "false", "mapreduce.input.linerecordreader.line.maxlength", "2147483647"};
    java.util.TreeMap found = new java.util.TreeMap(String.CASE_INSENSITIVE_ORDER);
    for (int i = 0; i < passing.length; i += 2) found.put(passing[i], passing[i + 1]);
    scala.collection.immutable.Map result = (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty();
    for (scala.collection.Iterator it = options.iterator(); it.hasNext();) {
      scala.Tuple2 e = (scala.Tuple2) it.next();
      if (!found.containsKey(e._1())) result = (scala.collection.immutable.Map) result.$plus(e);
    }
    for (java.util.Iterator it = found.entrySet().iterator(); it.hasNext();) {
      java.util.Map.Entry e = (java.util.Map.Entry) it.next();
      result = (scala.collection.immutable.Map) result.$plus(new scala.Tuple2(e.getKey(), e.getValue()));
    }
    return result;
  }
  /** Without the mark of CHAR columns, which would have Spark pad their values. */
  private static StructType asStored(StructType schema) {
    StructField[] fields = (StructField[]) schema.fields().clone();
    for (int i = 0; i < fields.length; i++) {
      Metadata m = new MetadataBuilder().withMetadata(fields[i].metadata()).remove("__CHAR_VARCHAR_TYPE_STRING").build();
      fields[i] = new StructField(fields[i].name(), fields[i].dataType(), fields[i].nullable(), m);
    }
    return new StructType(fields);
  }
  /** The rows of a subset, through the kernel, as rows of a schema; specs: a line for each accumulator. */
  public Object accumulate(Object subset, String specs, String schemaJson) throws Exception {
    XSkipRows read = new XSkipRows(XSkipPlans.execution(subset));
    JavaRDD rows = read.rows.toJavaRDD().mapPartitions(new XSkipKernel(specs.split("\n"), read.at, read.split()));
    Object session = relation.sparkSession();
    java.lang.reflect.Method[] ms = session.getClass().getMethods();
    for (int i = 0; i < ms.length; i++) {
      if (ms[i].getName().equals("internalCreateDataFrame") && ms[i].getParameterTypes().length == 3) {
        return ms[i].invoke(session, new Object[]{rows.rdd(), DataType.fromJson(schemaJson), Boolean.FALSE});
      }
    }
    throw new NoSuchMethodException("SparkSession.internalCreateDataFrame");
  }
  /** Dataset.ofRows(session, plan): the companion's class differs between Spark 3 and 4. */
  private Object rows(LogicalPlan plan) throws Exception {
    Class companion = Class.forName(df.getClass().getName() + "$", true, df.getClass().getClassLoader());
    Object module = companion.getField("MODULE$").get(null);
    java.lang.reflect.Method[] ms = companion.getMethods();
    for (int i = 0; i < ms.length; i++) {
      if (ms[i].getName().equals("ofRows") && ms[i].getParameterTypes().length == 2) {
        return ms[i].invoke(module, new Object[]{relation.sparkSession(), plan});
      }
    }
    throw new NoSuchMethodException("Dataset.ofRows");
  }
}

/** The rows of a plan, and the place of each of its columns in them: as its scan gives them, in batches where it can, if
    the plan does no more than to choose among their columns. Spark would copy each row into one of the chosen. */
class XSkipRows {
  final RDD rows; final int[] at;
  XSkipRows(QueryExecution execution) {
    SparkPlan plan = execution.sparkPlan();
    boolean chooses = plan instanceof ProjectExec && ((ProjectExec) plan).child() instanceof FileSourceScanExec;
    FileSourceScanExec scan = chooses ? (FileSourceScanExec) ((ProjectExec) plan).child() : null;
    int[] places = chooses ? places(((ProjectExec) plan).projectList(), scan.output()) : null;
    at = new int[plan.output().length()];
    for (int i = 0; i < at.length; i++) at[i] = places == null ? i : places[i];
    rows = places == null ? execution.toRdd() : scan.supportsColumnar() ? scan.executeColumnar() : scan.execute();
  }
  /** The ordinals of the objects that are read in parts; null where Spark does not say. */
  HashSet split() {
    Partition[] tasks = rows.partitions();
    HashSet found = new HashSet();
    for (int i = 0; i < tasks.length; i++) {
      if (!(tasks[i] instanceof FilePartition)) return null;
      PartitionedFile[] files = ((FilePartition) tasks[i]).files();
      for (int k = 0; k < files.length; k++) {
        InternalRow values = files[k].partitionValues();
        if (files[k].start() != 0 || files[k].length() != files[k].fileSize()) found.add(new Integer(values.getInt(values.numFields() - 1)));
      }
    }
    return found;
  }
  /** Null where an expression is more than a column. */
  private static int[] places(@SEQ@ expressions, @SEQ@ columns) {
    int[] found = new int[expressions.length()];
    for (int i = 0; i < found.length; i++) {
      Object e = expressions.apply(i);
      if (e instanceof Alias) e = ((Alias) e).child();
      if (!(e instanceof AttributeReference)) return null;
      int k = 0;
      while (k < columns.length() && !((Attribute) columns.apply(k)).exprId().equals(((Attribute) e).exprId())) k++;
      if (k == columns.length()) return null;
      found[i] = k;
    }
    return found;
  }
}

/** A fixed choice of a listing's files. */
class XSkipSubset implements FileIndex {
  private final FileIndex d; private final @SEQ@ dirs; private final ArrayList names = new ArrayList(); private long bytes = 0;
  XSkipSubset(FileIndex d, ArrayList chosen) {
    this.d = d;
    scala.collection.immutable.VectorBuilder b = new scala.collection.immutable.VectorBuilder();
    for (int i = 0; i < chosen.size(); i++) {
      b.$plus$eq(chosen.get(i));
      for (scala.collection.Iterator it = ((PartitionDirectory) chosen.get(i)).files().iterator(); it.hasNext();) {
        FileStatus f = ((FileStatusWithMetadata) it.next()).fileStatus();
        names.add(f.getPath().toString()); bytes += f.getLen();
      }
    }
    this.dirs = (@SEQ@) (Object) b.result();
  }
  public @SEQ@ rootPaths() { return d.rootPaths(); }
  public @SEQ@ listFiles(@SEQ@ pf, @SEQ@ df) { return dirs; }
  public String[] inputFiles() { return (String[]) names.toArray(new String[0]); }
  public void refresh() { }
  public long sizeInBytes() { return bytes; }
  public StructType partitionSchema() { return d.partitionSchema(); }
  public scala.Option metadataOpsTimeNs() { return scala.Option.empty(); }
  public boolean isTimeTravel() { return false; }
}
