package io.xskip.collect;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.common.Bytes;
import io.xskip.common.Json;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.files.FileListing;
import io.xskip.listing.IndexedFileIndex;
import io.xskip.location.CatalogMetadata;
import io.xskip.location.IndexDiscovery;
import io.xskip.location.IndexLocation;
import io.xskip.location.IndexLocations;
import io.xskip.protocol.FileTable;
import io.xskip.read.KnownClasses;
import io.xskip.read.ReadProfile;
import io.xskip.read.ReadSchema;
import io.xskip.shims.DataFrames;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
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
import scala.Option;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * A dataset of files as a DataFrame of the user reads it, whose files Python lists, reads and runs
 * accumulators over.
 */
public final class FileRelation {
  // the last partition column that subset adds: the ordinal of the file in the listing
  private static final String ORDINAL = "__xskip_file";

  // the partition column before it, of a subset in parts: the start of the part in the file
  private static final String PART = "__xskip_part";

  private final Class<?> dataFrameClass;
  private final LogicalRelation logical;
  private final HadoopFsRelation relation;
  private final String kind;
  private final SparkSession session;
  private FileListing listing = null;

  /**
   * Resolves the dataset of a DataFrame that only reads files. Its session decides how, whatever
   * the thread's is.
   */
  public FileRelation(Object df) throws Exception {
    dataFrameClass = df.getClass();
    QueryExecution execution = SparkCompat.execution(df);
    session = execution.sparkSession();
    LogicalPlan plan = source(execution.analyzed());
    boolean readsFiles =
        plan instanceof LogicalRelation
            && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    kind =
        readsFiles
            ? KnownClasses.refusal((HadoopFsRelation) ((LogicalRelation) plan).relation())
            : plan.nodeName();
    logical = kind == null ? (LogicalRelation) plan : null;
    relation = kind == null ? (HadoopFsRelation) logical.relation() : null;
  }

  // The plan below aliases and below the projection that pads CHAR columns.
  private static LogicalPlan source(LogicalPlan analyzed) {
    LogicalPlan plan = analyzed;
    while (plan.children().length() == 1) {
      String name = plan.getClass().getSimpleName();
      if (!name.equals("SubqueryAlias") && !name.equals("Project")) {
        break;
      }
      plan = (LogicalPlan) plan.children().head();
    }
    return plan;
  }

  /**
   * Returns the name of what the DataFrame reads, or null for a supported format and file index.
   */
  public String kind() {
    return kind;
  }

  /** Describes the dataset as a JSON object. */
  public String description() throws Exception {
    Seq<Path> roots = relation.location().rootPaths();
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    json.writeFieldName("roots");
    json.writeStartArray();
    for (int i = 0; i < roots.length(); i++) {
      json.writeString(roots.apply(i).toString());
    }
    json.writeEndArray();
    // Spark's schema JSON
    json.writeStringField("partitions", relation.partitionSchema().json());
    json.writeStringField("profile", ReadProfile.of(relation).json(SparkCompat.conf(session)));
    json.writeStringField("corrupt", corruptRecords(false));
    json.writeStringField("corruptOfAll", corruptRecords(true));
    // the possible locations of the metadata
    json.writeStringField("locations", roots.length() == 1 ? locations() : "[]");
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  private String format() {
    return SparkCompat.format(relation);
  }

  private String corruptName() throws Exception {
    return CorruptRecords.columnName(relation.options(), SparkCompat.conf(relation.sparkSession()));
  }

  private String corruptRecords(boolean ofAll) throws Exception {
    SQLConf conf = SparkCompat.conf(relation.sparkSession());
    return CorruptRecords.condition(
        format(), relation.dataSchema(), relation.options(), conf, ofAll);
  }

  private String locations() throws Exception {
    CatalogMetadata.forget(); // a build must not use remembered properties of databases
    SkippingSettings settings = new SkippingSettings(session);
    ArrayList<IndexLocation> locations = new ArrayList<>();
    IndexLocation own = IndexDiscovery.own(relation.location(), settings);
    if (own != null) {
      locations.add(own);
      return IndexLocations.json(locations);
    }
    CatalogTable table = (CatalogTable) Scala.orNull(logical.catalogTable());
    if (table != null) {
      locations.addAll(IndexLocations.ofTable(table, settings));
      if (IndexLocations.isChosen(table, settings)) {
        return IndexLocations.json(locations);
      }
    }
    Path root = (Path) relation.location().rootPaths().apply(0);
    locations.addAll(IndexLocations.ofPath(Paths.key(root), settings));
    if (table != null) {
      locations.addAll(IndexLocations.byName(table, settings));
    }
    return IndexLocations.json(locations);
  }

  /**
   * Returns the relation with the files of a snapshot, and with those that it lists if {@code
   * includeListed}.
   */
  public HadoopFsRelation trusting(
      long token,
      FileTable files,
      String root,
      String recordedRoot, // by which the snapshot names the files
      byte[] replaced, // the bits of the snapshot's files that the relation leaves out
      String partitions, // the partition columns in DDL; empty without partition columns
      boolean includeListed)
      throws Exception {
    FileIndex listed = includeListed ? relation.location() : null;
    StructType schema =
        partitions.isEmpty() ? new StructType() : SparkCompat.schema(session, partitions);
    return new IndexedFileIndex(token, files, listed, root, recordedRoot, replaced, schema)
        .in(relation);
  }

  /** Returns the files of the dataset, which Spark lists at the first call. */
  public FileListing listing() {
    if (listing == null) {
      Option<SparkSession> before = SparkCompat.enter(session);
      try {
        listing = new FileListing(list(), relation.partitionSchema());
      } finally {
        SparkCompat.activate(before);
      }
    }
    return listing;
  }

  private List<PartitionDirectory> list() {
    Seq<Expression> noFilters = (Seq<Expression>) new VectorBuilder<Expression>().result();
    return (List<PartitionDirectory>)
        Scala.list(SparkCompat.listFiles(relation.location(), noFilters, noFilters));
  }

  /** Returns the only expression that a DataFrame selects, see {@link ExpressionEncoder}. */
  public String expression(Object df) throws Exception {
    return ExpressionEncoder.selected(df);
  }

  /** Returns the texts that this expression reads as timestamps, see {@link ExpressionEncoder}. */
  public String timestampTexts(Object df) throws Exception {
    return ExpressionEncoder.timestampTexts(df);
  }

  /**
   * Returns a DataFrame over the files whose bits, the lowest of a byte first, are set, with the
   * column {@link #ORDINAL}.
   */
  public Object subset(byte[] bits, boolean asTexts) throws Exception {
    return subset(bits, asTexts, false);
  }

  /**
   * Returns a DataFrame as {@link #subset(byte[], boolean)} does, which has the column {@link
   * #PART} as well, for accumulators over parts.
   */
  public Object subsetInParts(byte[] bits) throws Exception {
    return subset(bits, false, true);
  }

  private Object subset(byte[] bits, boolean asTexts, boolean inParts) throws Exception {
    StructType schema = withoutPadding(relation.dataSchema());
    HadoopFsRelation subset =
        new HadoopFsRelation(
            new FileSubset(relation.location(), chosenFiles(bits, inParts)),
            subsetPartitions(inParts),
            CorruptRecords.readable(
                // files of CSV, JSON and XML contain the texts of timestamps
                format(), asTexts ? ReadSchema.withTexts(schema) : schema, corruptName()),
            Option.empty(),
            relation.fileFormat(),
            StrictReadOptions.of(relation.options()),
            relation.sparkSession());
    LogicalPlan plan = LogicalRelation$.MODULE$.apply(subset, false);
    return DataFrames.ofPlan(dataFrameClass, session, plan);
  }

  private StructType subsetPartitions(boolean inParts) {
    StructType schema = relation.partitionSchema();
    schema = inParts ? schema.add(PART, DataTypes.LongType) : schema;
    return schema.add(ORDINAL, DataTypes.IntegerType);
  }

  /** Returns a directory for each chosen file, with the ordinal as the last partition value. */
  private List<PartitionDirectory> chosenFiles(byte[] bits, boolean inParts) {
    List<PartitionDirectory> chosen = new ArrayList<>();
    int ordinal = 0;
    for (PartitionDirectory directory : listing().directories()) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        if (Bytes.isSet(bits, 0, ordinal)) {
          chosen.add(
              new PartitionDirectory(
                  withOrdinal(directory.values(), ordinal, inParts),
                  (Seq<FileStatusWithMetadata>) Scala.seq(Collections.singletonList(file))));
        }
        ordinal++;
      }
    }
    return chosen;
  }

  private InternalRow withOrdinal(InternalRow partition, int ordinal, boolean inParts) {
    StructType schema = relation.partitionSchema();
    Object[] values = new Object[schema.length() + (inParts ? 2 : 1)];
    for (int i = 0; i < schema.length(); i++) {
      DataType type = schema.apply(i).dataType();
      values[i] = partition.isNullAt(i) ? null : partition.get(i, type);
    }
    if (inParts) {
      values[schema.length()] = Long.valueOf(FileRuns.NO_PART);
    }
    values[values.length - 1] = Integer.valueOf(ordinal);
    return new GenericInternalRow(values);
  }

  // Spark pads the values of CHAR columns by their metadata.
  private static StructType withoutPadding(StructType schema) {
    StructField[] fields = (StructField[]) schema.fields().clone();
    for (int i = 0; i < fields.length; i++) {
      StructField field = fields[i];
      Metadata metadata =
          new MetadataBuilder()
              .withMetadata(field.metadata())
              .remove("__CHAR_VARCHAR_TYPE_STRING")
              .build();
      fields[i] = new StructField(field.name(), field.dataType(), field.nullable(), metadata);
    }
    return new StructType(fields);
  }

  /**
   * Returns the results of accumulators, one {@link AccumulatorFactory} a line, over {@link
   * #subset}, see [JVM-AC-2].
   *
   * @param borders where the parts of files begin, in the form of {@link FileBorders}, for a subset
   *     in parts; otherwise null
   */
  public Object accumulate(
      Object subset, String selection, String specs, String schemaJson, byte[] borders)
      throws Exception {
    Option<SparkSession> before = SparkCompat.enter(session);
    try {
      // the SQL of the ordinal and of the accumulators' columns, separated by NUL
      Object rows = DataFrames.selectExpr(subset, selection.split("\u0000"));
      FileBorders known = borders == null ? null : new FileBorders(borders, subsetPartitions(true));
      ScanRows scan = new ScanRows(SparkCompat.execution(rows), known);
      RDD<InternalRow> results = scan.accumulate(specs.split("\n"));
      StructType schema = (StructType) DataType.fromJson(schemaJson);
      return DataFrames.ofRows(session, results, schema);
    } finally {
      SparkCompat.activate(before);
    }
  }
}
