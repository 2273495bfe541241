package io.xskip.common;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tasks in several threads. */
public final class Parallel {
  private Parallel() {}

  /** Returns the results of tasks in their order; the first error interrupts the other tasks. */
  public static <T> List<T> results(List<? extends Callable<T>> tasks, int threads)
      throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      List<Future<T>> futures = new ArrayList<>();
      for (Callable<T> task : tasks) {
        futures.add(executor.submit(task));
      }
      List<T> results = new ArrayList<>();
      for (Future<T> future : futures) {
        results.add((T) result(future));
      }
      return results;
    } finally {
      executor.shutdownNow();
    }
  }

  /** Returns the result of a task, or throws the error of the task itself. */
  public static <T> T result(Future<T> future) throws Exception {
    try {
      return (T) future.get();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof Exception) {
        throw (Exception) e.getCause();
      }
      throw e;
    }
  }
}
