package io.xskip.quixlake;

import io.xskip.common.Paths;
import io.xskip.common.ReadFailures;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import org.apache.avro.AvroRuntimeException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.AccessControlException;
import org.apache.spark.unsafe.Platform;

/** The error of a segment that cannot be read. */
final class SegmentFailure {
  private SegmentFailure() {}

  /**
   * Throws an error that names the segment; errors that Spark knows, such as of a missing file,
   * stay as they are.
   */
  static void raise(Path path, String codec, Throwable error, boolean canIgnore) {
    // canIgnore: Spark leaves out segments that cannot be read
    Throwable cause = error;
    if (error instanceof AvroRuntimeException && error.getCause() instanceof IOException) {
      cause = error.getCause();
    }
    if (cause instanceof NoClassDefFoundError) {
      // no IOException: Spark would pass over the file under ignoreCorruptFiles
      cause =
          new NoClassDefFoundError(
              text(
                  path,
                  "the library of its codec " + codec + " is missing: " + cause.getMessage()));
    } else if (isNamed(cause)) {
      String text = text(path, cause.getMessage());
      cause = canIgnore ? new IOException(text, error) : ReadFailures.of(text, error);
    }
    Platform.throwException(cause);
  }

  private static boolean isNamed(Throwable error) {
    if (error instanceof IOException) {
      return !(error instanceof FileNotFoundException
          || error instanceof AccessControlException
          || error instanceof InterruptedIOException
          || error instanceof ClosedByInterruptException
          || error.getClass().getSimpleName().equals("BlockMissingException"));
    }
    return error instanceof RuntimeException;
  }

  private static String text(Path path, String reason) {
    return ReadFailures.text(Paths.key(path), reason);
  }
}
