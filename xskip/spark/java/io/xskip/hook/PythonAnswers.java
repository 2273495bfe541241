package io.xskip.hook;

import io.xskip.common.SparkCompat;
import java.io.IOException;
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

/**
 * The threads that ask Python. py4j keeps a connection, and Python a thread, for each thread of the
 * JVM that calls back, and Spark plans queries in threads that come and go. So a few threads ask
 * for all of them and stay: each is made when all others are busy, none ends, and what a thread
 * inherits from its maker is put aside for what its caller has.
 */
public class PythonAnswers {
  private static final int MOST_THREADS = 16;

  /**
   * The thread that serves the Python thread which connected first: it stays, and asks by itself.
   * Null: all are asked for.
   */
  public static volatile Thread home = null;

  private static final AtomicInteger number = new AtomicInteger();
  private static final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          0,
          MOST_THREADS,
          Long.MAX_VALUE,
          TimeUnit.NANOSECONDS,
          new SynchronousQueue(),
          new Maker(),
          new Caller());

  /**
   * The answer of Python to a request; it runs with the caller's user, session, class loader and
   * job properties.
   */
  static Object ask(Function callback, String[] parts) throws Throwable {
    if (Thread.currentThread() == home) return answer(callback, parts);
    FutureTask task = new FutureTask(new Asking(callback, parts));
    threads.execute(task);
    try {
      return task.get();
    } catch (ExecutionException e) {
      throw e.getCause();
    }
  }

  /** Python's answer to the last of the parts of a request, given in this thread. */
  private static Object answer(Function callback, String[] parts) {
    Object inside = HookState.inCallback.get(), answer = null;
    HookState.inCallback.set(Boolean.TRUE);
    try {
      for (int i = 0; i < parts.length; i++) answer = callback.apply(parts[i]);
    } finally {
      if (inside == null) HookState.inCallback.remove();
    }
    return answer;
  }

  static class Maker implements ThreadFactory {
    public Thread newThread(Runnable r) {
      Thread t = new Thread(r, "xskip-answers-" + number.incrementAndGet());
      t.setDaemon(true);
      return t;
    }
  }

  /**
   * With all threads busy the caller asks by itself: a query inside an answer would else wait for
   * its own end.
   */
  static class Caller implements RejectedExecutionHandler {
    public void rejectedExecution(Runnable r, ThreadPoolExecutor e) {
      scala.Option session = SparkSession.getActiveSession();
      SparkContext context = SparkCompat.context();
      Properties properties = context.getLocalProperties();
      ClassLoader loader = Thread.currentThread().getContextClassLoader();
      try {
        r.run();
      } finally {
        Thread.currentThread().setContextClassLoader(loader);
        context.setLocalProperties(properties);
        SparkCompat.activate(session);
      }
    }
  }

  /** One request, in the parts in which Python takes it. */
  static class Asking implements Callable, PrivilegedExceptionAction {
    private final Function callback;
    private final String[] parts;
    private final UserGroupInformation user = current();
    private final ClassLoader loader = Thread.currentThread().getContextClassLoader();
    private final scala.Option session = SparkSession.getActiveSession();
    private final SparkContext context = SparkCompat.context();
    private final Properties properties = (Properties) context.getLocalProperties().clone();

    Asking(Function callback, String[] parts) {
      this.callback = callback;
      this.parts = parts;
    }

    private static UserGroupInformation current() {
      try {
        return UserGroupInformation.getCurrentUser();
      } catch (IOException e) {
        throw new RuntimeException(e);
      }
    }

    public Object call() throws Exception {
      Thread.currentThread().setContextClassLoader(loader);
      context.setLocalProperties(properties);
      SparkCompat.activate(session);
      try {
        return user.doAs(this);
      } finally { // an idle thread keeps nothing of a query
        SparkSession.clearActiveSession();
        context.setLocalProperties(new Properties());
        Thread.currentThread().setContextClassLoader(PythonAnswers.class.getClassLoader());
      }
    }

    public Object run() {
      return answer(callback, parts);
    }
  }
}
