package io.xskip.write;

import org.apache.hadoop.fs.Path;

/**
 * The output path of a write, with the statistics to collect. Spark copies a command by the
 * arguments of its constructor, and passes this one on as it is.
 */
final class IndexedPath extends Path {
  private static final long serialVersionUID = 1L;

  private final transient StatisticsPlan plan;
  private final transient IndexedWrite write;

  IndexedPath(Path path, StatisticsPlan plan, IndexedWrite write) {
    super(path.toUri());
    this.plan = plan;
    this.write = write;
  }

  StatisticsPlan plan() {
    return plan;
  }

  IndexedWrite write() {
    return write;
  }
}
