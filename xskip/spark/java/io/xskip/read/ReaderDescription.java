package io.xskip.read;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import java.io.StringWriter;
import java.lang.reflect.Field;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** The format, options and schema of a DataFrameReader, which has no getters. */
public final class ReaderDescription {
  private ReaderDescription() {}

  /** Returns the description of a DataFrameReader as JSON; the schema is empty if it has none. */
  public static String json(Object reader, SQLConf conf) throws Exception {
    Object format = field(reader, "source");
    if (format == null) {
      format = conf.getConfString("spark.sql.sources.default");
    }
    Option<?> schema = (Option<?>) field(reader, "userSpecifiedSchema");
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    json.writeStringField("format", format.toString());
    json.writeFieldName("options");
    Json.writeStrings(json, options(reader));
    json.writeStringField("schema", schema.isEmpty() ? "" : ((StructType) schema.get()).json());
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  private static scala.collection.Map<?, ?> options(Object reader) throws Exception {
    Object options = field(reader, "extraOptions");
    return options instanceof CaseInsensitiveMap
        ? ((CaseInsensitiveMap<?>) options).originalMap()
        : (scala.collection.Map<?, ?>) options;
  }

  private static Object field(Object object, String name) throws Exception {
    // Fields are in the class or, from Spark 4 on, in its superclass. The Scala compiler prefixes
    // the names of some.
    for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
      for (Field field : type.getDeclaredFields()) {
        if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
          field.setAccessible(true);
          return field.get(object);
        }
      }
    }
    throw new NoSuchFieldException(object.getClass().getName() + "." + name);
  }
}
