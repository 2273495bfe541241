package io.xskip.questdb;

import com.fasterxml.jackson.databind.JsonNode;
import io.xskip.common.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** The files of a cold tier that are read with one transaction of a table. Rules: [QDB-CT]. */
final class ColdFiles {
  private static final long BLOCK_SIZE = 128L << 20;

  /**
   * How Spark reads a group of files, by what became of their columns, and the table's columns as
   * SQL.
   */
  static final class Group {
    final StructType schema;
    final String[] columns;

    Group(JsonNode fields) {
      schema = (StructType) DataType.fromJson(fields.get("schema").asText());
      JsonNode texts = fields.get("columns");
      columns = new String[texts.size()];
      for (int i = 0; i < columns.length; i++) {
        columns[i] = ((JsonNode) texts.get(i)).asText();
      }
    }
  }

  /** A file with the half-open bounds of its times in ticks. */
  static final class Entry {
    final FileStatus status;
    final long start;
    final long end;

    Entry(FileStatus status, long start, long end) {
      this.status = status;
      this.start = start;
      this.end = end;
    }
  }

  final long number; // of the record, or 0 if nothing was exported yet
  final String root; // the folder, as a key of Paths
  final String format; // a short name
  final Map<String, Group> groups = new LinkedHashMap<>();
  private final Map<String, List<Entry>> entries = new LinkedHashMap<>();

  ColdFiles(JsonNode fields) {
    number = fields.get("number").asLong();
    root = Paths.key(new Path(fields.get("root").asText()));
    format = fields.get("format").asText();
    JsonNode all = fields.get("groups");
    for (int i = 0; i < all.size(); i++) {
      JsonNode group = (JsonNode) all.get(i);
      groups.put(group.get("name").asText(), new Group(group));
      entries.put(group.get("name").asText(), new ArrayList<Entry>());
    }
    Path folder = Paths.path(root);
    JsonNode files = fields.get("files");
    for (int i = 0; i < files.size(); i++) {
      JsonNode file = (JsonNode) files.get(i);
      Path path = new Path(folder, ((JsonNode) file.get(1)).asText());
      long size = ((JsonNode) file.get(2)).asLong();
      long modified = ((JsonNode) file.get(3)).asLong();
      FileStatus status = new FileStatus(size, false, 1, BLOCK_SIZE, modified, path);
      long start = ((JsonNode) file.get(4)).asLong();
      of(((JsonNode) file.get(0)).asText())
          .add(new Entry(status, start, ((JsonNode) file.get(5)).asLong()));
    }
  }

  /** Returns whether all files can be read through the relations of another one. */
  boolean fits(ColdFiles other) {
    return format.equals(other.format) && other.groups.keySet().containsAll(groups.keySet());
  }

  /** Returns the files of a group, none if the group is unknown. */
  List<Entry> of(String group) {
    List<Entry> files = (List<Entry>) entries.get(group);
    return files == null ? Collections.<Entry>emptyList() : files;
  }
}
