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
        boolean isLeft =
            bounds.isBounded(i)
                ? intervals.meet(bounds.low(i), bounds.high(i))
                : !bounds.isEmpty(i); // NULL has no partner
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
      KeyIntervals.Interval interval = intervals.interval();
      boolean hasValues = true;
      for (int c = 0; c < ofColumn.size(); c++) {
        JoinComparison comparison = (JoinComparison) ofColumn.get(c);
        FileBounds known = (FileBounds) bounds.get(c);
        hasValues &= !known.isEmpty(i);
        if (known.isBounded(i) && comparison.isAtLeast) {
          interval.startFrom(known.low(i));
        }
        if (known.isBounded(i) && comparison.isAtMost) {
          interval.endAt(known.high(i));
        }
      }
      if (hasValues) {
        intervals.add(interval);
      }
    }
    intervals.sort();
    return intervals;
  }
}
