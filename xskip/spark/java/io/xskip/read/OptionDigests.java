package io.xskip.read;

import io.xskip.common.Bytes;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.io.InputStream;
import java.math.BigInteger;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.hadoop.fs.Path;

/** The reader options of a relation, as they decide how its files are read. */
final class OptionDigests {
  private OptionDigests() {}

  /** Returns a copy of options, a Java or Scala map of strings or null. */
  static SortedMap<String, String> of(Object options) {
    SortedMap<String, String> values = new TreeMap<>();
    if (options != null) {
      Map<?, ?> given =
          options instanceof Map
              ? (Map<?, ?>) options
              : Scala.map((scala.collection.Map<?, ?>) options);
      for (Map.Entry<?, ?> option : given.entrySet()) { // only Scala can give null as a value
        values.put((String) option.getKey(), String.valueOf(option.getValue()));
      }
    }
    return values;
  }

  /**
   * Returns options as they decide values: one that names a file has a digest of the file, and
   * Avro's schema counts by {@link AvroFields}.
   */
  static SortedMap<String, String> deciding(SortedMap<String, String> options) {
    SortedMap<String, String> values = new TreeMap<>();
    for (Map.Entry<String, String> option : options.entrySet()) {
      String name = (String) option.getKey();
      String value = (String) option.getValue();
      if (isFile(name)) {
        values.put(name, contentDigest(value));
      } else if (!name.equalsIgnoreCase("avroSchema") && !name.equalsIgnoreCase("avroSchemaUrl")) {
        values.put(name, value);
      }
    }
    return values;
  }

  private static boolean isFile(String name) {
    return name.equalsIgnoreCase("rowValidationXSDPath");
  }

  private static String contentDigest(String file) {
    try {
      return "sha256:" + String.format("%064x", new BigInteger(1, Bytes.sha256(content(file))));
    } catch (Throwable t) { // the option names no file that can be read
      return "unreadable";
    }
  }

  static byte[] content(String file) throws Exception {
    Path path = new Path(file);
    InputStream in = path.getFileSystem(SparkCompat.hadoopConf()).open(path);
    try {
      return in.readAllBytes();
    } finally {
      in.close();
    }
  }

  /** Returns the value of an option, whose name can be in any case, or null if it is not given. */
  static String value(Map<String, String> options, String name) {
    for (Map.Entry<String, String> option : options.entrySet()) {
      if (name.equalsIgnoreCase((String) option.getKey())) {
        return (String) option.getValue();
      }
    }
    return null;
  }

  /** Returns whether the name or the value of an option contains a text, in any case. */
  static boolean mention(Map<String, String> options, String text) {
    for (Map.Entry<String, String> option : options.entrySet()) {
      String entry = option.getKey() + "=" + option.getValue();
      if (entry.toLowerCase(Locale.ROOT).contains(text)) {
        return true;
      }
    }
    return false;
  }
}
