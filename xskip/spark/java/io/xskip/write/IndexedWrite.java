package io.xskip.write;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.xskip.common.Json;
import io.xskip.common.Paths;
import io.xskip.connection.HookState;
import io.xskip.location.IndexLocation;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * A write to a dataset with an index. Python plans its statistics when Spark plans the write, and
 * commits them after the data [JVM-WR-1].
 */
public final class IndexedWrite {
  private static final AtomicLong LAST = new AtomicLong();

  /** The writes whose requests Python is answering. */
  private static final Map<Long, IndexedWrite> PENDING = new ConcurrentHashMap<>();

  private static volatile Function<String, byte[]> callback = null;

  private final long id = LAST.incrementAndGet();
  private final InsertIntoHadoopFsRelationCommand command;
  private final IndexLocation location;
  private final Path output; // the path of the command, with its file system
  private final String indexes; // that the write requests, or null
  private final Object session;
  private WrittenFiles written = null;

  IndexedWrite(
      InsertIntoHadoopFsRelationCommand command,
      IndexLocation location,
      Path output,
      String indexes,
      Object session) {
    this.command = command;
    this.location = location;
    this.output = output;
    this.indexes = indexes;
    this.session = session;
  }

  /** Sets the function in Python that plans and commits statistics. */
  public static void setCallback(Function<String, byte[]> function) {
    callback = function;
  }

  /** Returns the write of a number whose requests Python is answering. */
  public static IndexedWrite of(long id) {
    return (IndexedWrite) PENDING.get(Long.valueOf(id));
  }

  /** Returns the statistics to collect, or null if there are none. */
  StatisticsPlan plan() throws Exception {
    byte[] answer = callback == null ? null : send("plan", null);
    if (answer == null) {
      return null;
    }
    JsonNode plan = new ObjectMapper().readTree(new String(answer, StandardCharsets.UTF_8));
    String[] specs = texts(plan.get("accumulators"));
    if (!plan.get("columns").isNull()) {
      return StatisticsPlan.ofColumns(specs, texts(plan.get("columns")), dataSchema());
    }
    Option<SparkSession> before = SparkCompat.enter(session);
    try {
      return StatisticsPlan.of(specs, texts(plan.get("selection")), dataSchema(), session);
    } finally {
      SparkCompat.activate(before);
    }
  }

  private static String[] texts(JsonNode array) {
    String[] texts = new String[array.size()];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = ((JsonNode) array.get(i)).asText();
    }
    return texts;
  }

  /** Lets Python commit the statistics of the files that the write has committed. */
  void commit(List<Object[]> results) throws Exception {
    written = new WrittenFiles(command, location, output, results, session);
    try {
      send("commit", written.removedDirectories());
    } finally {
      written = null;
    }
  }

  private byte[] send(String question, List<String> removed) throws Exception {
    PENDING.put(Long.valueOf(id), this);
    try {
      return HookState.call(callback, request(question, removed));
    } finally {
      PENDING.remove(Long.valueOf(id));
    }
  }

  private String request(String question, List<String> removed) throws Exception {
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    json.writeStringField("question", question);
    json.writeNumberField("id", id);
    json.writeFieldName("location");
    location.writeTo(json);
    json.writeFieldName("options");
    Json.writeStrings(json, Scala.map(command.options()));
    json.writeStringField("path", command.outputPath().toString());
    json.writeStringField("table", table());
    json.writeStringField("indexes", indexes);
    json.writeBooleanField("overwrites", overwritesAll());
    if (removed != null) { // the directories of whose files the write has left none
      json.writeArrayFieldStart("removed");
      for (String directory : removed) {
        json.writeString(directory);
      }
      json.writeEndArray();
    }
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  /** Returns the name of the table to which the command writes, or null if it knows none. */
  private String table() {
    CatalogTable table = (CatalogTable) Scala.orNull(command.catalogTable());
    return table == null ? null : table.identifier().quotedString();
  }

  /** Returns whether the write deletes all former files of the dataset. */
  private boolean overwritesAll() {
    return command.mode() == SaveMode.Overwrite
        && !command.dynamicPartitionOverwrite()
        && command.staticPartitions().isEmpty()
        && Paths.key(output).equals(location.listed());
  }

  // The methods for Python.

  /** Returns the session of the write. */
  public Object session() {
    return session;
  }

  /** Returns a relation without files that has the written columns. */
  public HadoopFsRelation relation() {
    return new HadoopFsRelation(
        new NoFiles(command.outputPath()),
        schema(Scala.list(command.partitionColumns())),
        dataSchema(),
        Option.empty(),
        command.fileFormat(),
        Map$.MODULE$.<String, String>empty(),
        (SparkSession) session);
  }

  /** Returns the short name of the format of the files. */
  public String format() {
    return SparkCompat.format(relation());
  }

  /** Returns the files that the write has committed. */
  public WrittenFiles written() {
    return written;
  }

  /** Returns the columns of the files, in the order of the rows that tasks write. */
  private StructType dataSchema() {
    // as Spark does it: partition columns can differ from those of the query in all but their ids
    Set<ExprId> partitions = new HashSet<>();
    for (Attribute column : Scala.list(command.partitionColumns())) {
      partitions.add(column.exprId());
    }
    List<Attribute> columns = new ArrayList<>();
    for (Attribute column : Scala.list(command.outputColumns())) {
      if (!partitions.contains(column.exprId())) {
        columns.add(column);
      }
    }
    if (columns.size() + partitions.size() != command.outputColumns().length()) {
      throw new IllegalStateException("the query lacks partition columns, or has them twice");
    }
    return schema(columns);
  }

  private static StructType schema(List<Attribute> columns) {
    StructField[] fields = new StructField[columns.size()];
    for (int i = 0; i < fields.length; i++) {
      Attribute column = (Attribute) columns.get(i);
      fields[i] = new StructField(column.name(), column.dataType(), true, Metadata.empty());
    }
    return new StructType(fields);
  }
}
