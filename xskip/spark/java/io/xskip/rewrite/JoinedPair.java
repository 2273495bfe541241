package io.xskip.rewrite;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;

/** Two relations whose columns a join compares. */
final class JoinedPair {
  private final JoinedRelation one;
  private final JoinedRelation other;

  /** Whether files of each relation can be left out. */
  private final boolean prunesOne;

  private final boolean prunesOther;

  /** The comparisons of columns of the first relation with columns of the other one. */
  private final List<JoinComparison> comparisons = new ArrayList<>();

  JoinedPair(JoinedRelation one, JoinedRelation other, boolean prunesOne, boolean prunesOther) {
    this.one = one;
    this.other = other;
    this.prunesOne = prunesOne;
    this.prunesOther = prunesOther;
  }

  void add(JoinComparison comparison) {
    comparisons.add(comparison);
    one.add(comparison.one);
    other.add(comparison.other);
  }

  /** Returns whether a relation of few rows can prune the other one. */
  boolean isSelective() {
    return one.isSelective() && prunesOther || other.isSelective() && prunesOne;
  }

  /** Notes that the relations that can be pruned can have few rows. */
  void markSelective() {
    if (prunesOne) {
      one.markSelective();
    }
    if (prunesOther) {
      other.markSelective();
    }
  }

  /** Asks the indexes, and returns whether both know bounds, first that of a side with few rows. */
  boolean isKnown() throws Exception {
    JoinedRelation first = one.isSelective() ? one : other;
    return hasBounds(first) && hasBounds(first == one ? other : one);
  }

  private boolean hasBounds(JoinedRelation relation) throws Exception {
    if (!relation.isKnown()) {
      return false;
    }
    for (JoinComparison each : comparisons) {
      FileBounds bounds = relation.bounds(relation == one ? each.one : each.other);
      for (int i = relation.left().nextSetBit(0); i >= 0; i = relation.left().nextSetBit(i + 1)) {
        if (bounds.isBounded(i) || bounds.isEmpty(i)) {
          return true;
        }
      }
    }
    return relation.left().isEmpty();
  }

  /** Leaves out files without a partner, and returns whether there are any. */
  boolean prune() {
    boolean isPruned = false;
    if (prunesOne) {
      isPruned |= prune(one, other, comparisons);
    }
    if (prunesOther) {
      List<JoinComparison> flipped = new ArrayList<>();
      for (JoinComparison each : comparisons) {
        flipped.add(each.flipped());
      }
      isPruned |= prune(other, one, flipped);
    }
    return isPruned;
  }

  private static boolean prune(
      JoinedRelation target, JoinedRelation source, List<JoinComparison> comparisons) {
    boolean isPruned = false;
    for (JoinComparison each : comparisons) {
      KeyIntervals intervals = intervals(each.one, source, comparisons);
      FileBounds bounds = target.bounds(each.one);
      BitSet left = target.left();
      for (int i = left.nextSetBit(0); i >= 0; i = left.nextSetBit(i + 1)) {
        // NULL has no partner
        boolean isLeft = bounds.isBounded(i) ? meet(intervals, bounds, i) : !bounds.isEmpty(i);
        if (!isLeft) {
          left.clear(i);
          isPruned = true;
        }
      }
    }
    if (isPruned) {
      source.markSource();
    }
    return isPruned;
  }

  /** Returns whether a file can have a value in one of the intervals. */
  private static boolean meet(KeyIntervals intervals, FileBounds bounds, int position) {
    Object[] values = bounds.values(position);
    if (values == null) {
      return intervals.meet(bounds.low(position), bounds.high(position));
    }
    for (Object value : values) {
      if (intervals.meet(value, value)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the intervals of a column that the files of the other relation leave to it. */
  private static KeyIntervals intervals(
      Attribute column, JoinedRelation source, List<JoinComparison> comparisons) {
    KeyIntervals intervals = new KeyIntervals(column.dataType());
    List<JoinComparison> ofColumn = new ArrayList<>();
    List<FileBounds> bounds = new ArrayList<>();
    for (JoinComparison each : comparisons) {
      if (each.one.exprId().equals(column.exprId())) {
        ofColumn.add(each);
        bounds.add(source.bounds(each.other));
      }
    }
    for (int i = source.left().nextSetBit(0); i >= 0; i = source.left().nextSetBit(i + 1)) {
      Object[] equal = equalValues(ofColumn, bounds, i);
      if (equal == null) {
        addInterval(intervals, ofColumn, bounds, i, null);
      } else {
        for (Object value : equal) {
          addInterval(intervals, ofColumn, bounds, i, value);
        }
      }
    }
    intervals.sort();
    return intervals;
  }

  /** Returns the known values of a column that is equal, in a file; null if there are none. */
  private static Object[] equalValues(
      List<JoinComparison> comparisons, List<FileBounds> bounds, int position) {
    for (int c = 0; c < comparisons.size(); c++) {
      JoinComparison comparison = (JoinComparison) comparisons.get(c);
      Object[] values = ((FileBounds) bounds.get(c)).values(position);
      if (comparison.isAtLeast && comparison.isAtMost && values != null) {
        return values;
      }
    }
    return null;
  }

  /**
   * Adds the interval of a file, unless one of the columns has no value but NULL in it.
   *
   * @param value the value to which the interval is narrowed, or null
   */
  private static void addInterval(
      KeyIntervals intervals,
      List<JoinComparison> comparisons,
      List<FileBounds> bounds,
      int position,
      Object value) {
    KeyIntervals.Interval interval = intervals.interval();
    if (value != null) {
      interval.startFrom(value);
      interval.endAt(value);
    }
    for (int c = 0; c < comparisons.size(); c++) {
      JoinComparison comparison = (JoinComparison) comparisons.get(c);
      FileBounds known = (FileBounds) bounds.get(c);
      if (known.isEmpty(position)) {
        return;
      }
      if (known.isBounded(position) && comparison.isAtLeast) {
        interval.startFrom(known.low(position));
      }
      if (known.isBounded(position) && comparison.isAtMost) {
        interval.endAt(known.high(position));
      }
    }
    intervals.add(interval);
  }
}
