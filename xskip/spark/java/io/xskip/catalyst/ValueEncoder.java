package io.xskip.catalyst;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Bytes;
import io.xskip.common.Json;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes Catalyst's internal values as JSON, in the form of [JVM-RQ-4]. */
public final class ValueEncoder {
  private ValueEncoder() {}

  static void write(JsonGenerator json, Object value) throws IOException {
    if (value == null) {
      json.writeNull();
    } else if (value instanceof Boolean) {
      json.writeBoolean(((Boolean) value).booleanValue());
    } else if (value instanceof Float || value instanceof Double) {
      json.writeString(Double.toString(((Number) value).doubleValue()));
    } else if (value instanceof Number) {
      json.writeNumber(((Number) value).longValue()); // also days, months, micro- and nanoseconds
    } else if (value instanceof Decimal) {
      json.writeString(((Decimal) value).toJavaBigDecimal().toPlainString());
    } else if (value instanceof UTF8String) {
      writeText(json, (UTF8String) value);
    } else if (value instanceof byte[]) {
      writeBytes(json, (byte[]) value);
    } else {
      json.writeStartObject();
      json.writeStringField("?", value.getClass().getName());
      json.writeStringField("s", value.toString());
      json.writeEndObject();
    }
  }

  private static void writeText(JsonGenerator json, UTF8String value) throws IOException {
    String text = value.toString();
    if (UTF8String.fromString(text).equals(value)) {
      json.writeString(text);
    } else {
      writeBytes(json, value.getBytes());
    }
  }

  private static void writeBytes(JsonGenerator json, byte[] bytes) throws IOException {
    json.writeStartObject();
    json.writeStringField("b64", Bytes.text(bytes));
    json.writeEndObject();
  }

  public static void writeRow(JsonGenerator json, InternalRow row, StructType schema)
      throws IOException {
    json.writeStartArray();
    for (int i = 0; i < schema.length(); i++) {
      DataType type = schema.apply(i).dataType();
      write(json, row.isNullAt(i) ? null : row.get(i, type));
    }
    json.writeEndArray();
  }

  /** Returns the values of a row as the text of an array. */
  public static String row(final InternalRow row, final StructType schema) {
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            writeRow(json, row, schema);
          }
        });
  }
}
