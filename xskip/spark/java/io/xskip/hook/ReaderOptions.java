package io.xskip.hook;

import io.xskip.common.Json;
import java.lang.reflect.Field;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/**
 * What a DataFrameReader was told. It has no getters; its fields stand in itself or, from Spark 4
 * on, in its superclass.
 */
public class ReaderOptions {
  public static String json(Object reader) throws Exception {
    StringBuilder sb = new StringBuilder("{\"format\":");
    Object format = field(reader, "source"), options = field(reader, "extraOptions");
    scala.Option schema = (scala.Option) field(reader, "userSpecifiedSchema");
    String otherwise = SQLConf.get().getConfString("spark.sql.sources.default");
    Json.string(sb, format == null ? otherwise : format.toString());
    sb.append(",\"options\":");
    Json.strings(
        sb,
        options instanceof CaseInsensitiveMap
            ? ((CaseInsensitiveMap) options).originalMap()
            : options);
    sb.append(",\"schema\":");
    Json.string(sb, schema.isEmpty() ? "" : ((StructType) schema.get()).json());
    return sb.append('}').toString();
  }

  private static Object field(Object o, String name) throws Exception {
    for (Class c = o.getClass(); c != null; c = c.getSuperclass()) {
      Field[] fs = c.getDeclaredFields();
      for (int i = 0; i < fs.length; i++) {
        if (!fs[i].getName().equals(name) && !fs[i].getName().endsWith("$$" + name)) continue;
        fs[i].setAccessible(true);
        return fs[i].get(o);
      }
    }
    throw new NoSuchFieldException(o.getClass().getName() + "." + name);
  }
}
