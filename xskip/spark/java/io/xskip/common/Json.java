package io.xskip.common;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.Map;
import scala.Tuple2;

/**
 * JSON texts for Python. The texts are pure ASCII, because py4j counts the bytes of a command where
 * the JVM counts characters. Strings and integers have the text that Python's {@code json.dumps}
 * returns: snapshots compare the texts of partition values.
 */
public final class Json {
  private static final JsonFactory FACTORY =
      new JsonFactory().configure(JsonWriteFeature.WRITE_HEX_UPPER_CASE.mappedFeature(), false);

  /** The last printable ASCII character. */
  private static final int LAST_UNESCAPED = '~';

  private Json() {}

  /** A value that has a JSON form. */
  public interface Value {
    /**
     * Writes the value, as exactly one JSON value.
     *
     * @throws IOException only as {@code json} throws it
     */
    void writeTo(JsonGenerator json) throws IOException;
  }

  /** Returns a generator that writes to {@code text} and escapes all non-ASCII characters. */
  public static JsonGenerator generator(StringWriter text) {
    try {
      return FACTORY.createGenerator(text).setHighestNonEscapedChar(LAST_UNESCAPED);
    } catch (IOException impossible) { // a StringWriter does no I/O
      throw new UncheckedIOException(impossible);
    }
  }

  /**
   * Returns the JSON text of a value.
   *
   * @throws UncheckedIOException if the value is nested more deeply than Jackson allows
   */
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

  /** Writes a Scala map as an object of strings; a null value becomes the string "null". */
  public static void writeStrings(JsonGenerator json, scala.collection.Map<?, ?> map)
      throws IOException {
    json.writeStartObject();
    scala.collection.Iterator<?> entries = map.iterator();
    while (entries.hasNext()) {
      Tuple2<?, ?> entry = (Tuple2<?, ?>) entries.next();
      json.writeStringField(String.valueOf(entry._1()), String.valueOf(entry._2()));
    }
    json.writeEndObject();
  }
}
