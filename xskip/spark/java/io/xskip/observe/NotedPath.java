package io.xskip.observe;

import io.xskip.common.Failures;
import io.xskip.scan.FileSelection;
import io.xskip.scan.ScanContext;
import org.apache.hadoop.fs.Path;

/** A path for the text of a plan. Its own text also says what skipping does in a scan. */
final class NotedPath extends Path {
  private static final long serialVersionUID = 1L;

  private final transient ScanContext context;
  private final transient FileSelection selection;

  NotedPath(Path path, ScanContext context, FileSelection selection) {
    super(path.toUri());
    this.context = context;
    this.selection = selection;
  }

  @Override
  public String toString() {
    String path = super.toString();
    if (context == null) {
      return path;
    }
    try {
      return path + " (" + ScanNote.text(context, selection) + ")";
    } catch (Throwable t) {
      Failures.logDebug("the text of a plan", t);
      return path;
    }
  }
}
