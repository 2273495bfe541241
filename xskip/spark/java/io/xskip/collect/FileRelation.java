package io.xskip.collect;

import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.common.Bytes;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
import io.xskip.files.FileListing;
import io.xskip.hook.IndexedFileIndex;
import io.xskip.hook.KnownClasses;
import io.xskip.hook.ScanContext;
import io.xskip.location.IndexLocations;
import io.xskip.snapshot.FileTable;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * A dataset of files as the user's DataFrame reads it: its listing, and the same reading of some of
 * its files.
 */
public class FileRelation {
  private final LogicalRelation logical;
  private final HadoopFsRelation relation;
  private final Object df;
  private FileListing listing = null;

  public FileRelation(Object df) throws Exception {
    this.df = df;
    LogicalPlan plan = SparkCompat.execution(df).analyzed();
    while (plan.children().length() == 1) { // aliases, and the projection that pads CHAR columns
      String name = plan.getClass().getSimpleName();
      if (!name.equals("SubqueryAlias") && !name.equals("Project")) break;
      plan = (LogicalPlan) plan.children().head();
    }
    boolean files =
        plan instanceof LogicalRelation
            && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    String refused =
        files
            ? KnownClasses.refusal((HadoopFsRelation) ((LogicalRelation) plan).relation())
            : plan.nodeName();
    logical = refused == null ? (LogicalRelation) plan : null;
    relation = refused == null ? (HadoopFsRelation) logical.relation() : null;
    kind = refused;
  }

  private final String kind;

  public boolean isOfFiles() {
    return relation != null;
  }

  /** What it is where it is not of files. */
  public String kind() {
    return kind;
  }

  public String[] roots() {
    Seq r = relation.location().rootPaths();
    String[] a = new String[r.length()];
    for (int i = 0; i < a.length; i++) a[i] = r.apply(i).toString();
    return a;
  }

  /** Where the metadata may be: the table's places, where it is one, then those of its root. */
  public String places() throws Exception {
    IndexLocations.forget(); // a build looks for itself
    SkippingSettings settings = new SkippingSettings(SQLConf.get());
    ArrayList found = new ArrayList();
    CatalogTable table =
        logical.catalogTable().isEmpty() ? null : (CatalogTable) logical.catalogTable().get();
    if (table != null) found.addAll(IndexLocations.ofTable(table, settings));
    if (table != null && IndexLocations.isChosen(table)) return IndexLocations.json(found);
    found.addAll(
        IndexLocations.ofPath(
            Paths.key((Path) relation.location().rootPaths().apply(0)), settings));
    if (table != null) found.addAll(IndexLocations.byName(table, settings));
    return IndexLocations.json(found);
  }

  /**
   * Its relation with the files that an index knows in the place of its own; its own, where asked
   * for, come in addition.
   */
  public HadoopFsRelation trusting(
      long token, FileTable objects, String root, byte[] replaced, String partitions, boolean own)
      throws Exception {
    StructType schema =
        partitions.length() == 0 ? new StructType() : StructType.fromDDL(partitions);
    return new IndexedFileIndex(
            token, objects, own ? relation.location() : null, root, replaced, schema)
        .in(relation);
  }

  public FileListing listing() {
    if (listing == null) {
      ArrayList dirs = new ArrayList();
      Seq none = (Seq) (Object) new VectorBuilder().result();
      for (scala.collection.Iterator it = relation.location().listFiles(none, none).iterator();
          it.hasNext(); ) dirs.add(it.next());
      listing = new FileListing(dirs);
    }
    return listing;
  }

  public StructType partitionSchema() {
    return relation.partitionSchema();
  }

  public String partitionSchemaJson() {
    return relation.partitionSchema().json();
  }

  public String partitionValues() {
    return listing().partitionValues(relation.partitionSchema());
  }

  /**
   * {"format":…,"options":{…},"conf":{…},"schema":…} as a query on the same relation would send it.
   */
  public String reading() throws Exception {
    ScanContext c =
        new ScanContext(
            new SkippingSettings(SQLConf.get()),
            new ArrayList(),
            SparkCompat.format(relation),
            relation.options(),
            relation.dataSchema(),
            relation.partitionSchema(),
            relation.sparkSession());
    return "{" + c.reading() + "}";
  }

  /** The one expression that a DataFrame selects, as filters have it after optimization. */
  public String expression(Object df) throws Exception {
    return ExpressionEncoder.selected(df);
  }

  /**
   * The name of the column that subset() adds: the file's ordinal in the listing, as a partition's
   * value.
   */
  public static final String ORDINAL = "__xskip_object";

  /**
   * The same relation over the files whose bits are set (little-endian bit order, as the listing
   * counts).
   */
  public Object subset(byte[] bits) throws Exception {
    ArrayList dirs = listing().dirs, chosen = new ArrayList();
    StructType partitions = relation.partitionSchema();
    int width = partitions.length(), at = 0;
    for (int d = 0; d < dirs.size(); d++) {
      PartitionDirectory pd = (PartitionDirectory) dirs.get(d);
      for (scala.collection.Iterator it = pd.files().iterator(); it.hasNext(); at++) {
        Object f = it.next();
        if (!Bytes.isSet(bits, 0, at)) continue;
        Object[] values = new Object[width + 1];
        for (int i = 0; i < width; i++) {
          values[i] =
              pd.values().isNullAt(i) ? null : pd.values().get(i, partitions.apply(i).dataType());
        }
        values[width] = new Integer(at);
        VectorBuilder one = new VectorBuilder();
        one.$plus$eq(f);
        chosen.add(
            new PartitionDirectory(new GenericInternalRow(values), (Seq) (Object) one.result()));
      }
    }
    HadoopFsRelation r =
        new HadoopFsRelation(
            new FileSubset(relation.location(), chosen),
            partitions.add(ORDINAL, DataTypes.IntegerType),
            asStored(relation.dataSchema()),
            scala.Option.empty(),
            relation.fileFormat(),
            whole(relation.options()),
            relation.sparkSession());
    return rows(LogicalRelation$.MODULE$.apply(r, false));
  }

  /**
   * Options under which a reader fails on what it cannot read: a build that passed over it would
   * take it for empty.
   */
  private static scala.collection.immutable.Map whole(scala.collection.immutable.Map options) {
    String[] passing = {
      "ignoreCorruptFiles",
      "false",
      "ignoreMissingFiles",
      "false",
      "parquet.read.bad.record.threshold",
      "0",
      "orc.skip.corrupt.data",
      "false",
      "mapreduce.input.linerecordreader.line.maxlength",
      "2147483647"
    };
    TreeMap found = new TreeMap(String.CASE_INSENSITIVE_ORDER);
    for (int i = 0; i < passing.length; i += 2) found.put(passing[i], passing[i + 1]);
    scala.collection.immutable.Map result =
        (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty();
    for (scala.collection.Iterator it = options.iterator(); it.hasNext(); ) {
      Tuple2 e = (Tuple2) it.next();
      if (!found.containsKey(e._1())) result = (scala.collection.immutable.Map) result.$plus(e);
    }
    for (Iterator it = found.entrySet().iterator(); it.hasNext(); ) {
      Map.Entry e = (Map.Entry) it.next();
      result = (scala.collection.immutable.Map) result.$plus(new Tuple2(e.getKey(), e.getValue()));
    }
    return result;
  }

  /** Without the mark of CHAR columns, which would have Spark pad their values. */
  private static StructType asStored(StructType schema) {
    StructField[] fields = (StructField[]) schema.fields().clone();
    for (int i = 0; i < fields.length; i++) {
      Metadata m =
          new MetadataBuilder()
              .withMetadata(fields[i].metadata())
              .remove("__CHAR_VARCHAR_TYPE_STRING")
              .build();
      fields[i] = new StructField(fields[i].name(), fields[i].dataType(), fields[i].nullable(), m);
    }
    return new StructType(fields);
  }

  /**
   * The rows of a subset, through the kernel, as rows of a schema; specs: a line for each
   * accumulator.
   */
  public Object accumulate(Object subset, String specs, String schemaJson) throws Exception {
    ScanRows read = new ScanRows(SparkCompat.execution(subset));
    JavaRDD rows =
        read.rows
            .toJavaRDD()
            .mapPartitions(new AccumulatorKernel(specs.split("\n"), read.at, read.split()));
    Object session = relation.sparkSession();
    Method[] ms = session.getClass().getMethods();
    for (int i = 0; i < ms.length; i++) {
      if (ms[i].getName().equals("internalCreateDataFrame")
          && ms[i].getParameterTypes().length == 3) {
        return ms[i].invoke(
            session, new Object[] {rows.rdd(), DataType.fromJson(schemaJson), Boolean.FALSE});
      }
    }
    throw new NoSuchMethodException("SparkSession.internalCreateDataFrame");
  }

  /** Dataset.ofRows(session, plan): the companion's class differs between Spark 3 and 4. */
  private Object rows(LogicalPlan plan) throws Exception {
    Class companion =
        Class.forName(df.getClass().getName() + "$", true, df.getClass().getClassLoader());
    Object module = companion.getField("MODULE$").get(null);
    Method[] ms = companion.getMethods();
    for (int i = 0; i < ms.length; i++) {
      if (ms[i].getName().equals("ofRows") && ms[i].getParameterTypes().length == 2) {
        return ms[i].invoke(module, new Object[] {relation.sparkSession(), plan});
      }
    }
    throw new NoSuchMethodException("Dataset.ofRows");
  }
}
