package io.xskip.rewrite;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.util.TypeUtils$;
import org.apache.spark.sql.types.DataType;
import scala.math.Ordering;

/**
 * Intervals of keys, each of which has all keys with a partner in one file of the other side of a
 * join. A key outside of all intervals has no partner.
 */
final class KeyIntervals {
  private final Ordering<Object> order;
  private final List<Interval> intervals = new ArrayList<>();

  /** For each interval the greatest end of it and of those before it, in the order of starts. */
  private final List<Object> ends = new ArrayList<>();

  KeyIntervals(DataType type) {
    order = (Ordering<Object>) TypeUtils$.MODULE$.getInterpretedOrdering(type);
  }

  /** The keys between two ends, of which null is no end. */
  final class Interval {
    private Object start = null;
    private Object end = null;

    void startFrom(Object value) {
      start = start == null || order.compare(value, start) > 0 ? value : start;
    }

    void endAt(Object value) {
      end = end == null || order.compare(value, end) < 0 ? value : end;
    }
  }

  Interval interval() {
    return new Interval();
  }

  /** Adds an interval, unless no key is in it. */
  void add(Interval interval) {
    boolean isOpen = interval.start == null || interval.end == null;
    if (isOpen || order.compare(interval.start, interval.end) <= 0) {
      intervals.add(interval);
    }
  }

  /** Ends the additions, so that {@link #meet} can be called. */
  void sort() {
    intervals.sort(
        new Comparator<Object>() {
          @Override
          public int compare(Object one, Object other) {
            return compareStarts(((Interval) one).start, ((Interval) other).start);
          }
        });
    Object last = null;
    for (int i = 0; i < intervals.size(); i++) {
      Object end = ((Interval) intervals.get(i)).end;
      boolean isOpen = end == null || (i > 0 && last == null);
      if (isOpen) {
        last = null;
      } else if (i == 0 || order.compare(end, last) > 0) {
        last = end;
      }
      ends.add(last);
    }
  }

  private int compareStarts(Object one, Object other) {
    if (one == null || other == null) {
      return one == other ? 0 : one == null ? -1 : 1;
    }
    return order.compare(one, other);
  }

  /** Returns whether an interval has a key between two bounds. */
  boolean meet(Object low, Object high) {
    int first = 0; // the number of intervals that do not start after the upper bound
    int last = intervals.size();
    while (first < last) {
      int middle = (first + last) / 2;
      if (compareStarts(((Interval) intervals.get(middle)).start, high) <= 0) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first > 0
        && (ends.get(first - 1) == null || order.compare(ends.get(first - 1), low) >= 0);
  }
}
