package io.xskip.rewrite;

import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.types.DataType;
import scala.math.Ordering;

/**
 * The files that can have one of the first rows in an order.
 *
 * <p>Let {@code worst} be the bound of a file that none of its values comes after, and {@code best}
 * the bound that none comes before. If the files that match wholly with a {@code worst} not after
 * some value have k rows, then no row after this value is among the first k: a file whose {@code
 * best} comes after the value is not needed. Bounds need not be values of rows.
 */
final class TopFiles {
  private final FileFacts files;
  private final int partition;
  private final boolean isAscending;
  private final boolean hasNullsFirst;
  private final Ordering<Object> order;
  private final ColumnFacts facts;
  private final FileBounds bounds;

  /**
   * Creates the files of an order.
   *
   * @param facts the facts of the column, or null if it is a partition column
   * @param partition the position of the column among the partition columns, or -1
   */
  TopFiles(FileFacts files, ColumnFacts facts, int partition, SortOrder sort) {
    this.files = files;
    this.facts = facts;
    this.partition = partition;
    DataType type = sort.child().dataType();
    isAscending = sort.direction() == Ascending$.MODULE$;
    hasNullsFirst = sort.nullOrdering() == NullsFirst$.MODULE$;
    order = (Ordering<Object>) TypeUtils$.MODULE$.getInterpretedOrdering(type);
    bounds = new FileBounds(files, facts, partition, type);
  }

  /** Returns which of some files can have one of the first of their rows. */
  List<Integer> needed(List<Integer> positions, int rows) {
    Object last = last(positions, rows);
    List<Integer> needed = new ArrayList<>();
    for (Integer position : positions) {
      if (last == null || isNeeded(position.intValue(), last)) {
        needed.add(position);
      }
    }
    return needed;
  }

  /**
   * Returns a value that so many rows of some files do not come after, or null.
   *
   * <p>It is the worst bound among as few of the files with the best worst bounds as have the rows.
   */
  private Object last(List<Integer> positions, int rows) {
    PriorityQueue<Integer> chosen = new PriorityQueue<>(16, new WorstFirst());
    long found = 0;
    for (Integer position : positions) {
      int i = position.intValue();
      Object worst = isCounted(i) ? bound(i, !isAscending) : null;
      boolean isBetter =
          worst != null
              && (found < rows
                  || compared(worst, bound(((Integer) chosen.peek()).intValue(), !isAscending))
                      < 0);
      if (isBetter) {
        chosen.add(position);
        found += certainRows(i);
        while (found - certainRows(((Integer) chosen.peek()).intValue()) >= rows) {
          found -= certainRows(((Integer) chosen.poll()).intValue());
        }
      }
    }
    return found < rows ? null : bound(((Integer) chosen.peek()).intValue(), !isAscending);
  }

  private boolean isCounted(int position) {
    return files.isWhole(position) && certainRows(position) > 0;
  }

  /** The order in which the file with the worst of all worst bounds is the first. */
  private final class WorstFirst implements Comparator<Object> {
    @Override
    public int compare(Object one, Object other) {
      Object worst = bound(((Integer) one).intValue(), !isAscending);
      return compared(bound(((Integer) other).intValue(), !isAscending), worst);
    }
  }

  /** Returns how many rows of a file do not come after its worst bound, at least. */
  private long certainRows(int position) {
    if (hasNullsFirst || partition >= 0) {
      return files.rows(position);
    }
    long nulls = facts.nulls(files.ordinal(position));
    return nulls < 0 ? 0 : files.rows(position) - nulls;
  }

  private boolean isNeeded(int position, Object last) {
    if (!bounds.isBounded(position) && !bounds.isEmpty(position)) {
      return true;
    }
    if (hasNullsFirst && canHaveNull(position)) {
      return true;
    }
    Object best = bound(position, isAscending);
    return best != null && compared(best, last) <= 0; // without bounds, all values are NULL
  }

  private boolean canHaveNull(int position) {
    return partition < 0
        ? facts.nulls(files.ordinal(position)) != 0
        : files.partition(position).isNullAt(partition);
  }

  /** Returns the lower or the upper bound of a file, or null if it has none. */
  private Object bound(int position, boolean isLow) {
    return isLow ? bounds.low(position) : bounds.high(position);
  }

  private int compared(Object one, Object other) {
    return isAscending ? order.compare(one, other) : order.compare(other, one);
  }
}
