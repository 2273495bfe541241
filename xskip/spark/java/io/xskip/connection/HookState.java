package io.xskip.connection;

import io.xskip.common.Failures;
import io.xskip.common.SkippingSettings;
import io.xskip.shims.SparkCompat;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;

/** The connection of the hook to Python. There is one per class loader, that is, one per JVM. */
public final class HookState {
  private static final int MAX_REPORTED = 1000;

  /** The settings that Python has checked. */
  private static final ConcurrentHashMap<String, Boolean> REPORTED = new ConcurrentHashMap<>();

  private static volatile Function<String, byte[]> callback = null;

  private HookState() {}

  /**
   * Sets the function in Python that answers requests.
   *
   * @param function the function from a request to the answer, or to null if there is none; it runs
   *     in the current thread if that thread sends the request
   */
  public static void setCallback(Function<String, byte[]> function) {
    CallbackExecutor.enterHomeThread();
    callback = function;
  }

  public static Function<String, byte[]> callback() {
    return callback;
  }

  /**
   * Returns whether the hook can send requests: Python is connected, and the Spark context runs.
   */
  public static boolean isActive() {
    return callback != null && SparkCompat.context() != null;
  }

  /**
   * Returns the settings of the session that runs a query, or null if the rule must leave plans as
   * they are. Spark makes that session the active one of the thread in which it calls the rule.
   */
  public static SkippingSettings settings() throws Exception {
    Option<SparkSession> session = SparkSession.getActiveSession();
    if (!isActive() || CallbackExecutor.isInCallback() || session.isEmpty()) {
      return null;
    }
    SQLConf conf = SparkCompat.conf(session.get());
    reportSettings(conf);
    return SkippingSettings.isEnabled(conf) ? new SkippingSettings(session.get()) : null;
  }

  /** Sends settings to Python, which warns of wrong ones, unless Python has had the same ones. */
  private static void reportSettings(SQLConf conf) {
    try {
      String message = SkippingSettings.message(conf);
      if (message == null || REPORTED.containsKey(message)) {
        return;
      }
      if (REPORTED.size() > MAX_REPORTED) {
        REPORTED.clear();
      }
      REPORTED.put(message, Boolean.TRUE);
      call(callback, message);
    } catch (Throwable t) {
      Failures.logFailure("the check of settings", t);
    }
  }

  /**
   * Sends a request to a function in Python, with the user and session of the current thread.
   *
   * @return the answer, which can be null
   */
  public static byte[] call(Function<String, byte[]> function, String request) throws Exception {
    try {
      return CallbackExecutor.call(function, new String[] {request});
    } catch (Exception e) {
      throw e;
    } catch (Throwable t) {
      throw new IllegalStateException(t);
    }
  }
}
