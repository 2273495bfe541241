package io.xskip.common;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import io.xskip.shims.Scala;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;

/**
 * JSON texts for Python. Their strings and integers have the text that Python's {@code json.dumps}
 * returns: snapshots compare the texts of partition values.
 */
public final class Json {
  private static final JsonFactory FACTORY =
      new JsonFactory().configure(JsonWriteFeature.WRITE_HEX_UPPER_CASE.mappedFeature(), false);

  // py4j counts the bytes of a command where the JVM counts characters, so the texts are ASCII
  private static final int LAST_UNESCAPED = '~';

  private Json() {}

  /** A value that writes itself as exactly one JSON value. */
  public interface Value {
    void writeTo(JsonGenerator json) throws IOException;
  }

  public static JsonGenerator generator(StringWriter text) {
    try {
      return FACTORY.createGenerator(text).setHighestNonEscapedChar(LAST_UNESCAPED);
    } catch (IOException impossible) { // a StringWriter does no I/O
      throw new UncheckedIOException(impossible);
    }
  }

  /** Returns the JSON text of a value; fails if Jackson does not allow so deep a value. */
  public static String text(Value value) {
    StringWriter text = new StringWriter();
    try {
      JsonGenerator json = generator(text);
      value.writeTo(json);
      json.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  /** Writes a map as an object of strings; a null value becomes the string "null". */
  public static void writeStrings(JsonGenerator json, Map<?, ?> map) throws IOException {
    json.writeStartObject();
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      json.writeStringField(String.valueOf(entry.getKey()), String.valueOf(entry.getValue()));
    }
    json.writeEndObject();
  }

  public static void writeStrings(JsonGenerator json, scala.collection.Map<?, ?> map)
      throws IOException {
    writeStrings(json, Scala.map(map));
  }
}
