package io.xskip.catalyst;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Types with other types in them: arrays, maps and structs. */
public final class NestedTypes {
  private NestedTypes() {}

  /** Returns whether a type is of a class, or contains such a type. */
  public static boolean contain(DataType type, Class<?> kind) {
    if (type instanceof ArrayType) {
      return contain(((ArrayType) type).elementType(), kind);
    }
    if (type instanceof MapType) {
      return contain(((MapType) type).keyType(), kind)
          || contain(((MapType) type).valueType(), kind);
    }
    if (type instanceof StructType) {
      for (StructField field : ((StructType) type).fields()) {
        if (contain(field.dataType(), kind)) {
          return true;
        }
      }
      return false;
    }
    return kind.isInstance(type);
  }
}
