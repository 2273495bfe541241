package io.xskip.read;

import io.xskip.common.SparkCompat;
import java.io.InputStream;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.hadoop.fs.Path;
import scala.Tuple2;

/** The reader options of a relation, as they decide how its files are read. */
final class ReadOptions {
  private static final int BUFFER_SIZE = 8192;

  private ReadOptions() {}

  /**
   * Returns a copy of options.
   *
   * @param options a Java or Scala map of strings, or null
   */
  static SortedMap<String, String> of(Object options) {
    SortedMap<String, String> values = new TreeMap<>();
    if (options instanceof Map) {
      for (Map.Entry<?, ?> option : ((Map<?, ?>) options).entrySet()) {
        put(values, option.getKey(), option.getValue());
      }
    } else if (options != null) {
      scala.collection.Iterator<?> entries = ((scala.collection.Map<?, ?>) options).iterator();
      while (entries.hasNext()) {
        Tuple2<?, ?> option = (Tuple2<?, ?>) entries.next();
        put(values, option._1(), option._2());
      }
    }
    return values;
  }

  /** Adds an option; one without a value, which only Scala can give, has the text of none. */
  private static void put(Map<String, String> values, Object name, Object value) {
    values.put((String) name, String.valueOf(value));
  }

  /**
   * Returns options by name as they decide values. The value of an option that names a file is a
   * digest of the file's content. The schema of an Avro reader counts column by column, see {@link
   * AvroFields}.
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
      Path path = new Path(file);
      InputStream in = path.getFileSystem(SparkCompat.hadoopConf()).open(path);
      try {
        return "sha256:" + sha256(in);
      } finally {
        in.close();
      }
    } catch (Throwable t) { // the option names no file that can be read
      return "unreadable";
    }
  }

  private static String sha256(InputStream in) throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    byte[] buffer = new byte[BUFFER_SIZE];
    int length = in.read(buffer);
    while (length >= 0) {
      digest.update(buffer, 0, length);
      length = in.read(buffer);
    }
    return String.format("%064x", new BigInteger(1, digest.digest()));
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
