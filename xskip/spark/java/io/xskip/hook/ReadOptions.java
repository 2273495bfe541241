package io.xskip.hook;

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
   * Returns options by name. The value of an option that names a file is a digest of the file's
   * content.
   *
   * @param options a Java or Scala map of strings, or null
   */
  static SortedMap<String, String> of(Object options) {
    SortedMap<String, String> values = copy(options);
    for (Map.Entry<String, String> option : values.entrySet()) {
      if (isFile((String) option.getKey())) {
        option.setValue(contentDigest((String) option.getValue()));
      }
    }
    return values;
  }

  private static SortedMap<String, String> copy(Object options) {
    SortedMap<String, String> values = new TreeMap<>();
    if (options instanceof Map) {
      for (Map.Entry<?, ?> option : ((Map<?, ?>) options).entrySet()) {
        values.put((String) option.getKey(), (String) option.getValue());
      }
    } else if (options != null) {
      scala.collection.Iterator<?> entries = ((scala.collection.Map<?, ?>) options).iterator();
      while (entries.hasNext()) {
        Tuple2<?, ?> option = (Tuple2<?, ?>) entries.next();
        values.put((String) option._1(), (String) option._2());
      }
    }
    return values;
  }

  private static boolean isFile(String name) {
    return name.equalsIgnoreCase("avroSchemaUrl") || name.equalsIgnoreCase("rowValidationXSDPath");
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

  /** Returns whether the name or the value of an option contains a text, in any case. */
  static boolean mention(Object options, String text) {
    for (Map.Entry<String, String> option : of(options).entrySet()) {
      String entry = option.getKey() + "=" + option.getValue();
      if (entry.toLowerCase(Locale.ROOT).contains(text)) {
        return true;
      }
    }
    return false;
  }
}
