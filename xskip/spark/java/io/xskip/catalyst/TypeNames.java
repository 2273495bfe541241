package io.xskip.catalyst;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The names of fields in data types. */
final class TypeNames {
  private TypeNames() {}

  /**
   * Returns whether the catalog's text of a type stands for this type only: the text does not quote
   * names such as {@code a:b}.
   */
  static boolean areClear(DataType type) {
    if (type instanceof ArrayType) {
      return areClear(((ArrayType) type).elementType());
    }
    if (type instanceof MapType) {
      return areClear(((MapType) type).keyType()) && areClear(((MapType) type).valueType());
    }
    if (type instanceof StructType) {
      for (StructField field : ((StructType) type).fields()) {
        if (!isClear(field.name()) || !areClear(field.dataType())) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean isClear(String name) {
    for (int i = 0; i < name.length(); i++) {
      if (!Character.isLetterOrDigit(name.charAt(i)) && name.charAt(i) != '_') {
        return false;
      }
    }
    return !name.isEmpty();
  }
}
