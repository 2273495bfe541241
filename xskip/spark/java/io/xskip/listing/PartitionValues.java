package io.xskip.listing;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Base64;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.math.BigDecimal;

/** Parses the values of partitions, which {@code ValueEncoder.row} encodes. */
final class PartitionValues {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private PartitionValues() {}

  static InternalRow parse(String json, StructType partitionSchema) throws IOException {
    Object[] encoded = (Object[]) MAPPER.readValue(json, Object[].class);
    Object[] values = new Object[encoded.length];
    for (int i = 0; i < encoded.length; i++) {
      if (encoded[i] != null) {
        values[i] = decode(encoded[i], partitionSchema.apply(i).dataType());
      }
    }
    return new GenericInternalRow(values);
  }

  private static Object decode(Object encoded, DataType type) {
    if (type instanceof StringType) {
      return UTF8String.fromString((String) encoded);
    }
    if (type instanceof BinaryType) {
      return Base64.getDecoder().decode((String) ((Map) encoded).get("b64"));
    }
    if (type instanceof BooleanType) {
      return encoded;
    }
    if (type instanceof FloatType) {
      return Float.valueOf((String) encoded);
    }
    if (type instanceof DoubleType) {
      return Double.valueOf((String) encoded);
    }
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      BigDecimal value = new BigDecimal(new java.math.BigDecimal((String) encoded));
      return new Decimal().set(value, decimal.precision(), decimal.scale());
    }
    return decodeInteger(encoded, type);
  }

  private static Object decodeInteger(Object encoded, DataType type) {
    if (type instanceof ByteType) {
      return Byte.valueOf(((Number) encoded).byteValue());
    }
    if (type instanceof ShortType) {
      return Short.valueOf(((Number) encoded).shortValue());
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Integer.valueOf(((Number) encoded).intValue());
    }
    if (type instanceof LongType
        || type instanceof TimestampType
        || type instanceof TimestampNTZType) {
      return Long.valueOf(((Number) encoded).longValue());
    }
    throw new IllegalArgumentException(
        "xskip does not support partition values of type " + type.catalogString());
  }
}
