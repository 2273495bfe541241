package io.xskip.observe;

import io.xskip.common.Failures;
import io.xskip.scan.FileSelection;
import io.xskip.scan.ScanContext;
import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import scala.collection.immutable.Seq;
import scala.collection.immutable.VectorBuilder;

/**
 * What the texts of {@code EXPLAIN FORMATTED} say of an indexed relation. Spark writes the root
 * paths of a file index in them, and only for them does the first path have a note.
 */
public final class PlanText {
  /** The method of a plan node that writes its text. */
  private static final String TEXT = "verboseStringWithOperatorId";

  /** The method of a plan node whose results Spark keeps. */
  private static final String KEPT = "metadata";

  private static final int MAX_FRAMES = 16;
  private static final StackWalker WALKER = StackWalker.getInstance();

  private PlanText() {}

  /** Returns root paths; for the text of a plan node, the first one has a note. */
  public static Seq<Path> rootPaths(Seq<Path> paths, ScanContext context, FileSelection selection) {
    try {
      if (paths.isEmpty() || !isAsked()) {
        return paths;
      }
      PlanMetrics.extend();
      VectorBuilder<Path> noted = new VectorBuilder<>();
      scala.collection.Iterator<Path> iterator = paths.iterator();
      noted.$plus$eq(new NotedPath((Path) iterator.next(), context, selection));
      while (iterator.hasNext()) {
        noted.$plus$eq((Path) iterator.next());
      }
      return noted.result();
    } catch (Throwable t) {
      Failures.logDebug("the text of a plan", t);
      return paths;
    }
  }

  /** Returns whether a plan node that writes its text has called. */
  private static boolean isAsked() {
    Object isAsked =
        WALKER.walk(
            new Function<Object, Object>() {
              @Override
              public Object apply(Object frames) {
                return Boolean.valueOf(isText(((Stream<?>) frames).limit(MAX_FRAMES).iterator()));
              }
            });
    return ((Boolean) isAsked).booleanValue();
  }

  private static boolean isText(Iterator<?> frames) {
    while (frames.hasNext()) {
      String method = ((StackWalker.StackFrame) frames.next()).getMethodName();
      if (method.startsWith(KEPT)) {
        return false;
      }
      if (method.contains(TEXT)) {
        return true;
      }
    }
    return false;
  }
}
