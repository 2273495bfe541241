package io.xskip.collect;

import io.xskip.shims.Scala;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.api.python.PythonUtils;

/**
 * The options under which a reader fails at data that it cannot read: statistics would lack values
 * of a later query.
 */
final class StrictReadOptions {
  private static final Map<String, String> STRICT = strictOptions();

  private StrictReadOptions() {}

  private static Map<String, String> strictOptions() {
    Map<String, String> options = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    options.put("ignoreCorruptFiles", "false");
    options.put("ignoreMissingFiles", "false");
    options.put("ignoreExtension", "true");
    options.put("avro.mapred.ignore.inputs.without.extension", "false");
    options.put("parquet.read.bad.record.threshold", "0");
    options.put("orc.skip.corrupt.data", "false");
    options.put("mapreduce.input.linerecordreader.line.maxlength", "2147483647");
    return options;
  }

  /** Returns a relation's options, with the strict options in place of those of the same name. */
  static scala.collection.immutable.Map<String, String> of(
      scala.collection.immutable.Map<String, String> given) {
    Map<String, String> options = new LinkedHashMap<>();
    for (Map.Entry<Object, Object> entry : Scala.map(given).entrySet()) {
      if (!STRICT.containsKey(entry.getKey())) {
        options.put((String) entry.getKey(), (String) entry.getValue());
      }
    }
    options.putAll(STRICT);
    return PythonUtils.toScalaMap(options);
  }
}
