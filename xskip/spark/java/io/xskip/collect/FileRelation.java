package io.xskip.collect;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.common.Bytes;
import io.xskip.common.Json;
import io.xskip.common.Paths;
import io.xskip.common.SkippingSettings;
import io.xskip.common.SparkCompat;
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
import java.io.StringWriter;
import java.util.ArrayList;
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
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * A dataset of files as a DataFrame of the user reads it.
 *
 * <p>Python lists the files of the dataset, reads subsets of them with the same options, and runs
 * accumulators over their rows.
 */
public final class FileRelation {
  /**
   * The column that {@link #subset} adds as the last partition column: the ordinal of the file in
   * the listing.
   */
  private static final String ORDINAL = "__xskip_file";

  private final Class<?> dataFrameClass;
  private final LogicalRelation logical;
  private final HadoopFsRelation relation;
  private final String kind;
  private final SparkSession session;
  private FileListing listing = null;

  /**
   * Resolves the dataset of a DataFrame that reads files and does nothing else. The session of the
   * DataFrame decides how the dataset is read, whatever session the calling thread has.
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

  /** Returns the plan below aliases and below the projection that pads CHAR columns. */
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
   * Returns a text that names what the DataFrame reads, or null if it reads files of a format and a
   * file index that are supported.
   */
  public String kind() {
    return kind;
  }

  /**
   * Describes the dataset as a JSON object.
   *
   * <p>{@code roots} are the root paths, {@code partitions} the partition columns as Spark's schema
   * JSON, {@code profile} the fields of {@link ReadProfile}, {@code corrupt} and {@code
   * corruptOfAll} the SQL of {@link CorruptRecords#condition}, and {@code locations} the possible
   * locations of the metadata; there are none unless the dataset has a single root.
   */
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
    json.writeStringField("partitions", relation.partitionSchema().json());
    json.writeStringField("profile", ReadProfile.of(relation).json(SparkCompat.conf(session)));
    json.writeStringField("corrupt", corruptRecords(false));
    json.writeStringField("corruptOfAll", corruptRecords(true));
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

  /**
   * Returns the possible locations of the metadata as JSON: the locations of the table, if the
   * dataset is a table, then those of its root path.
   */
  private String locations() throws Exception {
    CatalogMetadata.forget(); // a build must not use remembered properties of databases
    SkippingSettings settings = new SkippingSettings(session);
    ArrayList<IndexLocation> locations = new ArrayList<>();
    IndexLocation own = IndexDiscovery.own(relation.location(), settings);
    if (own != null) {
      locations.add(own);
      return IndexLocations.json(locations);
    }
    Option<CatalogTable> catalogTable = logical.catalogTable();
    CatalogTable table = catalogTable.isEmpty() ? null : (CatalogTable) catalogTable.get();
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
   * Returns the relation with the files of a snapshot in place of its own files.
   *
   * @param token the number of the snapshot
   * @param files the files of the snapshot
   * @param root the root of the dataset
   * @param recordedRoot the root by which the snapshot names the files
   * @param replaced the bits of the snapshot's files that the relation leaves out
   * @param partitions the partition columns in DDL; empty without partition columns
   * @param includeListed whether the result also has the files that the relation lists
   */
  public HadoopFsRelation trusting(
      long token,
      FileTable files,
      String root,
      String recordedRoot,
      byte[] replaced,
      String partitions,
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
    List<PartitionDirectory> directories = new ArrayList<>();
    Seq<Expression> noFilters = (Seq<Expression>) new VectorBuilder<Expression>().result();
    Iterator<PartitionDirectory> listed =
        relation.location().listFiles(noFilters, noFilters).iterator();
    while (listed.hasNext()) {
      directories.add((PartitionDirectory) listed.next());
    }
    return directories;
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
   * Returns a DataFrame over a subset of the files, with the additional column {@link #ORDINAL}.
   *
   * @param bits a bit for each file of the listing, the lowest bit of each byte first
   * @param asTexts whether the DataFrame has the texts of timestamps, which files of CSV, JSON and
   *     XML contain
   */
  public Object subset(byte[] bits, boolean asTexts) throws Exception {
    StructType schema = withoutPadding(relation.dataSchema());
    HadoopFsRelation subset =
        new HadoopFsRelation(
            new FileSubset(relation.location(), chosenFiles(bits)),
            relation.partitionSchema().add(ORDINAL, DataTypes.IntegerType),
            CorruptRecords.readable(
                format(), asTexts ? ReadSchema.withTexts(schema) : schema, corruptName()),
            Option.empty(),
            relation.fileFormat(),
            StrictReadOptions.of(relation.options()),
            relation.sparkSession());
    LogicalPlan plan = LogicalRelation$.MODULE$.apply(subset, false);
    return DataFrames.ofPlan(dataFrameClass, session, plan);
  }

  /** Returns a directory for each chosen file, with the ordinal as the last partition value. */
  private List<PartitionDirectory> chosenFiles(byte[] bits) {
    List<PartitionDirectory> chosen = new ArrayList<>();
    int ordinal = 0;
    for (PartitionDirectory directory : listing().directories()) {
      Iterator<FileStatusWithMetadata> files = directory.files().iterator();
      while (files.hasNext()) {
        FileStatusWithMetadata file = (FileStatusWithMetadata) files.next();
        if (Bytes.isSet(bits, 0, ordinal)) {
          VectorBuilder<FileStatusWithMetadata> single = new VectorBuilder<>();
          single.$plus$eq(file);
          chosen.add(
              new PartitionDirectory(
                  withOrdinal(directory.values(), ordinal),
                  (Seq<FileStatusWithMetadata>) single.result()));
        }
        ordinal++;
      }
    }
    return chosen;
  }

  private InternalRow withOrdinal(InternalRow partition, int ordinal) {
    StructType schema = relation.partitionSchema();
    Object[] values = new Object[schema.length() + 1];
    for (int i = 0; i < schema.length(); i++) {
      DataType type = schema.apply(i).dataType();
      values[i] = partition.isNullAt(i) ? null : partition.get(i, type);
    }
    values[schema.length()] = Integer.valueOf(ordinal);
    return new GenericInternalRow(values);
  }

  /** Returns a schema without the metadata of CHAR columns, with which Spark pads their values. */
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
   * Returns a DataFrame of the results of accumulators, with a row for each file or part of a file
   * that a task reads.
   *
   * @param subset the result of {@link #subset}
   * @param selection the SQL of {@link #ORDINAL} and of the columns of the accumulators, separated
   *     by NUL
   * @param specs the accumulators, one on each line, see {@link AccumulatorSpec}
   * @param schemaJson the schema of the results
   */
  public Object accumulate(Object subset, String selection, String specs, String schemaJson)
      throws Exception {
    Option<SparkSession> before = SparkCompat.enter(session);
    try {
      Object rows = DataFrames.selectExpr(subset, selection.split("\u0000"));
      ScanRows scan = new ScanRows(SparkCompat.execution(rows));
      RDD<InternalRow> results = scan.accumulate(specs.split("\n"));
      StructType schema = (StructType) DataType.fromJson(schemaJson);
      return DataFrames.ofRows(session, results, schema);
    } finally {
      SparkCompat.activate(before);
    }
  }
}
