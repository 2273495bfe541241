package io.xskip.common;

import org.slf4j.LoggerFactory;

/** The log of errors after which a query runs on. */
public final class Failures {
  private static final String LOGGER = "io.xskip";

  private Failures() {}

  public static void logDebug(String where, Throwable error) {
    LoggerFactory.getLogger(LOGGER).debug("xskip: " + where + " failed", error);
  }

  /** Logs an error after which written files are without statistics. */
  public static void logWrite(Throwable error) {
    LoggerFactory.getLogger(LOGGER)
        .warn("xskip: the index has no statistics of the files that a query has written", error);
  }

  /** Logs an error after which a query reads all files. */
  public static void logFailure(String where, Throwable error) {
    LoggerFactory.getLogger(LOGGER)
        .warn("xskip: " + where + " failed; the query reads all files", error);
    SkippingSource.countFailure();
    if (error instanceof InterruptedException) {
      Thread.currentThread().interrupt(); // so that Spark sees the cancellation
    }
  }
}
