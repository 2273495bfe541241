package io.xskip.connection;

import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.PrivilegedExceptionAction;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/**
 * The threads that call Python.
 *
 * <p>py4j holds a connection, and Python a thread, for each thread of the JVM that calls back, and
 * Spark plans queries in threads that come and go. So a few threads call Python for all others, and
 * never end. The executor creates a thread when all its threads are busy. Each call replaces the
 * state that the thread inherited from its creator by the state of the caller.
 */
public final class CallbackExecutor {
  private static final int MAX_THREADS = 16;
  private static final AtomicInteger THREAD_COUNT = new AtomicInteger();
  private static final ThreadLocal<Boolean> IN_CALLBACK = new ThreadLocal<>();

  private static final ThreadPoolExecutor THREADS =
      new ThreadPoolExecutor(
          0,
          MAX_THREADS,
          Long.MAX_VALUE,
          TimeUnit.NANOSECONDS,
          new SynchronousQueue<>(),
          new DaemonThreads(),
          new RunInCaller());

  /**
   * The thread that serves the Python thread which registered the callback. py4j holds its
   * connection anyway, so it calls Python directly.
   */
  private static volatile Thread homeThread = null;

  private CallbackExecutor() {}

  /** Makes the current thread the one that calls Python directly. */
  static void enterHomeThread() {
    homeThread = Thread.currentThread();
  }

  /** Returns whether the current thread is in a callback. The hook ignores queries of callbacks. */
  public static boolean isInCallback() {
    return IN_CALLBACK.get() != null;
  }

  /**
   * Sends a request to Python, with the user, session, class loader and job properties of the
   * current thread.
   *
   * @param callback the function in Python
   * @param parts the parts of the request; the function returns null for all but the last one
   * @return the answer to the last part
   */
  public static byte[] call(Function<String, byte[]> callback, String[] parts) throws Throwable {
    if (Thread.currentThread() == homeThread) {
      return applyToAll(callback, parts);
    }
    FutureTask<Object> task = new FutureTask<>(new Call(callback, parts));
    THREADS.execute(task);
    try {
      return (byte[]) task.get();
    } catch (ExecutionException e) {
      throw e.getCause();
    }
  }

  private static byte[] applyToAll(Function<String, byte[]> callback, String[] parts) {
    boolean isNested = isInCallback();
    IN_CALLBACK.set(Boolean.TRUE);
    try {
      byte[] answer = null;
      for (String part : parts) {
        answer = (byte[]) callback.apply(part);
      }
      return answer;
    } finally {
      if (!isNested) {
        IN_CALLBACK.remove();
      }
    }
  }

  /** Creates daemon threads. */
  private static final class DaemonThreads implements ThreadFactory {
    @Override
    public Thread newThread(Runnable task) {
      Thread thread = new Thread(task, "xskip-answers-" + THREAD_COUNT.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    }
  }

  /**
   * Runs a task in the caller's thread if all threads are busy. A query inside a callback would
   * else wait for its own end.
   */
  private static final class RunInCaller implements RejectedExecutionHandler {
    @Override
    public void rejectedExecution(Runnable task, ThreadPoolExecutor executor) {
      Option<SparkSession> session = SparkSession.getActiveSession();
      SparkContext context = SparkCompat.context();
      Properties properties = context.getLocalProperties();
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      try {
        task.run();
      } finally {
        Thread.currentThread().setContextClassLoader(loader);
        context.setLocalProperties(properties);
        SparkCompat.activate(session);
      }
    }
  }

  /** One request, with the state of the thread that created it. */
  private static final class Call implements Callable<Object>, PrivilegedExceptionAction<Object> {
    private final Function<String, byte[]> callback;
    private final String[] parts;
    private final UserGroupInformation user = currentUser();
    private final ClassLoader loader = Thread.currentThread().getContextClassLoader();
    private final Option<SparkSession> session = SparkSession.getActiveSession();
    private final SparkContext context = SparkCompat.context();
    private final Properties properties = (Properties) context.getLocalProperties().clone();

    Call(Function<String, byte[]> callback, String[] parts) {
      this.callback = callback;
      this.parts = parts;
    }

    private static UserGroupInformation currentUser() {
      try {
        return UserGroupInformation.getCurrentUser();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public Object call() throws Exception {
      Thread.currentThread().setContextClassLoader(loader);
      context.setLocalProperties(properties);
      SparkCompat.activate(session);
      try {
        return user.doAs(this);
      } finally { // an idle thread refers to nothing of a query
        SparkSession.clearActiveSession();
        context.setLocalProperties(new Properties());
        Thread.currentThread().setContextClassLoader(CallbackExecutor.class.getClassLoader());
      }
    }

    @Override
    public Object run() {
      return applyToAll(callback, parts);
    }
  }
}
