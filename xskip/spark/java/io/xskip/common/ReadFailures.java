package io.xskip.common;

import org.apache.spark.QueryContext;
import org.apache.spark.SparkException;
import scala.Option;
import scala.collection.immutable.Map$;

/** Errors of files that the hook's readers cannot read. */
public final class ReadFailures {
  // The only condition that Spark 4 does not put below an error of its own, whose message would
  // come first and say no reason.
  private static final String CONDITION = "FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER";

  private ReadFailures() {}

  /** Returns the text of an error, in which Python finds the path. */
  public static String text(String path, String reason) {
    return "xskip cannot read the file " + path + ": " + reason;
  }

  /** Returns an error with a cause, which can be null. */
  public static SparkException of(String message, Throwable cause) {
    // Neither an IOException nor a RuntimeException: Spark must not leave out the file under
    // ignoreCorruptFiles. A class of Spark: the driver would not know a class of the hook.
    return new SparkException(
        message,
        cause,
        Option.apply(CONDITION),
        Map$.MODULE$.<String, String>empty(),
        new QueryContext[0]);
  }
}
