package io.xskip.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/** Properties of schemas that decide how files are read. */
public final class ReadSchema {
  private ReadSchema() {}

  public static boolean isNested(StructType schema) {
    for (StructField field : schema.fields()) {
      DataType type = field.dataType();
      if (type instanceof StructType || type instanceof ArrayType || type instanceof MapType) {
        return true;
      }
    }
    return false;
  }

  static String quoted(String name) { // as Python spells it in a path of names that dots join
    if (name.indexOf('.') < 0 && name.indexOf('`') < 0) {
      return name;
    }
    return "`" + name.replace("`", "``") + "`";
  }

  /** Returns a schema with texts in place of timestamps, at any depth. */
  public static StructType withTexts(StructType schema) {
    return (StructType) withTexts((DataType) schema);
  }

  private static DataType withTexts(DataType type) {
    if (type instanceof ArrayType) {
      ArrayType array = (ArrayType) type;
      return new ArrayType(withTexts(array.elementType()), array.containsNull());
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      return new MapType(
          withTexts(map.keyType()), withTexts(map.valueType()), map.valueContainsNull());
    }
    if (!(type instanceof StructType)) {
      return type instanceof TimestampType ? DataTypes.StringType : type;
    }
    StructField[] fields = (StructField[]) ((StructType) type).fields().clone();
    for (int i = 0; i < fields.length; i++) {
      StructField field = fields[i];
      DataType fieldType = withTexts(field.dataType());
      fields[i] = new StructField(field.name(), fieldType, field.nullable(), field.metadata());
    }
    return new StructType(fields);
  }

  /** Returns the structs in a type, at any depth of arrays and maps but not in other structs. */
  static List<StructType> structs(DataType type) {
    List<StructType> found = new ArrayList<>();
    if (type instanceof StructType) {
      found.add((StructType) type);
    } else if (type instanceof ArrayType) {
      found.addAll(structs(((ArrayType) type).elementType()));
    } else if (type instanceof MapType) {
      found.addAll(structs(((MapType) type).keyType()));
      found.addAll(structs(((MapType) type).valueType()));
    }
    return found;
  }

  /**
   * Returns whether files contain dates or times; partition columns, which a schema may contain,
   * are not in the files.
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

  static boolean hasTimes(DataType type) {
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
}
