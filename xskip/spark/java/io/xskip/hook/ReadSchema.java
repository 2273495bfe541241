package io.xskip.hook;

import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Properties of schemas that decide how files are read. */
final class ReadSchema {
  private ReadSchema() {}

  /**
   * Returns a schema in which the nested structs have no fields. Spark removes from the schema of
   * an ORC scan those fields of structs that a query does not read.
   */
  static StructType withoutNestedFields(StructType schema) {
    StructField[] fields = schema.fields();
    StructField[] pruned = new StructField[fields.length];
    for (int i = 0; i < fields.length; i++) {
      StructField field = fields[i];
      DataType type = withoutFields(field.dataType());
      pruned[i] = new StructField(field.name(), type, field.nullable(), field.metadata());
    }
    return new StructType(pruned);
  }

  private static DataType withoutFields(DataType type) {
    if (type instanceof StructType) {
      return new StructType();
    }
    if (type instanceof ArrayType) {
      ArrayType array = (ArrayType) type;
      return new ArrayType(withoutFields(array.elementType()), array.containsNull());
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      return new MapType(
          withoutFields(map.keyType()), withoutFields(map.valueType()), map.valueContainsNull());
    }
    return type;
  }

  /**
   * Returns whether files contain dates or times. Partition columns are not in the files, even if
   * the schema contains them.
   */
  static boolean hasTimes(StructType schema, StructType partitionSchema) {
    Set<String> partitionNames = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
    partitionNames.addAll(Arrays.asList(partitionSchema.fieldNames()));
    for (StructField field : schema.fields()) {
      if (!partitionNames.contains(field.name()) && hasTimes(field.dataType())) {
        return true;
      }
    }
    return false;
  }

  private static boolean hasTimes(DataType type) {
    if (type instanceof StructType) {
      return hasTimes((StructType) type, new StructType());
    }
    if (type instanceof ArrayType) {
      return hasTimes(((ArrayType) type).elementType());
    }
    if (type instanceof MapType) {
      return hasTimes(((MapType) type).keyType()) || hasTimes(((MapType) type).valueType());
    }
    return type.typeName().startsWith("timestamp") || type.typeName().equals("date");
  }

  /** Returns the default values that stand for columns that a file lacks, as text. */
  static String defaultValues(StructType schema) {
    StringBuilder sb = new StringBuilder();
    for (StructField field : schema.fields()) {
      if (field.metadata().contains("EXISTS_DEFAULT")) {
        String value = field.metadata().getString("EXISTS_DEFAULT");
        sb.append(field.name()).append(" default ").append(value).append(';');
      }
    }
    return sb.toString();
  }
}
