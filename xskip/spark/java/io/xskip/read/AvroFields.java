package io.xskip.read;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.avro.JsonProperties;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The fields of a reader's Avro schema as texts of all that decides values: types, defaults and
 * aliases, no comments.
 */
final class AvroFields {
  private static final String UNREADABLE = "unreadable";

  private static final int MAX_KNOWN = 16;

  // the fields of the schemas that were given last, by the text of the schema
  private static final Map<String, Map<String, String>> KNOWN = new LinkedHashMap<>();

  private AvroFields() {}

  /** Returns the text of the schema that a reader is given, or null if it is given none. */
  static String schemaText(Map<String, String> options) {
    String text = OptionDigests.value(options, "avroSchema");
    if (text != null) {
      return text;
    }
    String url = OptionDigests.value(options, "avroSchemaUrl");
    return url == null ? null : content(url);
  }

  private static String content(String url) {
    try {
      return new String(OptionDigests.content(url), StandardCharsets.UTF_8);
    } catch (Throwable t) { // the option names no file that can be read
      return UNREADABLE;
    }
  }

  /**
   * Returns the field of each column of a relation, empty for one without; an unreadable schema is
   * that of the column without a name.
   */
  static SortedMap<String, String> of(String schema, StructType columns, boolean isCaseSensitive) {
    SortedMap<String, String> found = new TreeMap<>();
    Map<String, String> fields = fields(schema);
    if (fields == null) {
      found.put("", UNREADABLE);
      return found;
    }
    for (StructField column : columns.fields()) {
      StringBuilder text = new StringBuilder();
      for (Map.Entry<String, String> field : fields.entrySet()) {
        String name = (String) field.getKey();
        if (isCaseSensitive ? name.equals(column.name()) : name.equalsIgnoreCase(column.name())) {
          text.append((String) field.getValue());
        }
      }
      found.put(ReadSchema.quoted(column.name()), text.toString());
    }
    return found;
  }

  /** Returns the texts of a schema's fields by name, or null if the text is no schema. */
  private static Map<String, String> fields(String text) {
    synchronized (KNOWN) {
      if (KNOWN.containsKey(text)) {
        return (Map<String, String>) KNOWN.get(text);
      }
    }
    Map<String, String> fields = parse(text);
    synchronized (KNOWN) {
      if (KNOWN.size() >= MAX_KNOWN) {
        KNOWN.clear();
      }
      KNOWN.put(text, fields);
    }
    return fields;
  }

  private static Map<String, String> parse(String text) {
    try {
      Schema schema = new Schema.Parser().setValidateDefaults(false).parse(text);
      // aliases of fields count only in records whose name, or alias, is that of the file's record
      boolean hasAliases = text.contains("\"aliases\"");
      String record =
          hasAliases ? schema.getFullName() + new TreeSet<String>(schema.getAliases()) : "";
      Map<String, String> fields = new LinkedHashMap<>();
      for (Schema.Field field : schema.getFields()) {
        StringBuilder sb = new StringBuilder(record);
        append(sb, field, new HashSet<String>());
        fields.put(field.name(), sb.toString());
      }
      return fields;
    } catch (Throwable t) { // Spark refuses the schema as well
      return null;
    }
  }

  private static void append(StringBuilder sb, Schema.Field field, Set<String> above) {
    sb.append(field.name()).append(new TreeSet<String>(field.aliases())).append(' ');
    append(sb, field.schema(), above);
    if (field.hasDefaultValue()) {
      sb.append('=').append(text(field.defaultVal()));
    }
  }

  private static String text(Object value) {
    if (value == JsonProperties.NULL_VALUE) {
      return "null";
    }
    if (value instanceof byte[]) {
      return Arrays.toString((byte[]) value);
    }
    StringBuilder sb = new StringBuilder(); // bytes and null have no text of their own
    if (value instanceof Map) {
      for (Map.Entry<?, ?> entry : new TreeMap<Object, Object>((Map<?, ?>) value).entrySet()) {
        sb.append(text(entry.getKey())).append(':').append(text(entry.getValue())).append(',');
      }
      return "{" + sb + "}";
    }
    if (value instanceof Collection) {
      for (Object member : (Collection<?>) value) {
        sb.append(text(member)).append(',');
      }
      return "[" + sb + "]";
    }
    return String.valueOf(value);
  }

  /** Appends a type with all types that it contains; a type inside of itself has its name only. */
  private static void append(StringBuilder sb, Schema type, Set<String> above) {
    Schema.Type kind = type.getType();
    sb.append(kind.getName());
    for (Map.Entry<String, Object> property :
        new TreeMap<String, Object>(type.getObjectProps()).entrySet()) {
      sb.append('@')
          .append((String) property.getKey())
          .append('=')
          .append(text(property.getValue()));
    }
    if (kind == Schema.Type.ARRAY) {
      append(sb.append('['), type.getElementType(), above);
      sb.append(']');
    } else if (kind == Schema.Type.MAP) {
      append(sb.append('<'), type.getValueType(), above);
      sb.append('>');
    } else if (kind == Schema.Type.UNION) {
      for (Schema member : (List<Schema>) type.getTypes()) {
        append(sb.append('|'), member, above);
      }
      sb.append(';');
    } else if (kind == Schema.Type.RECORD
        || kind == Schema.Type.ENUM
        || kind == Schema.Type.FIXED) {
      appendNamed(sb, type, above);
    }
  }

  private static void appendNamed(StringBuilder sb, Schema type, Set<String> above) {
    sb.append(' ').append(type.getFullName()).append(new TreeSet<String>(type.getAliases()));
    if (type.getType() == Schema.Type.FIXED) {
      sb.append(type.getFixedSize());
    } else if (type.getType() == Schema.Type.ENUM) {
      sb.append(type.getEnumSymbols()).append(type.getEnumDefault());
    } else if (above.add(type.getFullName())) {
      sb.append('{');
      for (Schema.Field field : type.getFields()) {
        append(sb, field, above);
        sb.append(';');
      }
      sb.append('}');
      above.remove(type.getFullName());
    }
  }
}
