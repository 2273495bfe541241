package io.xskip.questdb;

import io.xskip.shims.Scala;
import java.io.Serializable;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Arrays;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.Or;
import scala.collection.immutable.Seq;

/**
 * The times in ticks outside of which no row matches: half-open ranges, sorted and apart from each
 * other.
 */
final class TimeRange implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final long LEAST = Long.MIN_VALUE;
  private static final long GREATEST = Long.MAX_VALUE;
  private static final TimeRange NONE = new TimeRange(new long[0], null);
  private static final TimeRange ALL = new TimeRange(new long[] {LEAST, GREATEST}, null);

  private static final int MAX_RANGES = 1000; // beyond which they are taken for one

  // The second of 1901-01-01 since the Unix epoch. Spark hands earlier times to data sources as
  // those of another calendar and of other time zones.
  private static final long FIRST_EXACT_SECOND = -2_177_452_800L;

  private final String column; // whose times the range is of, or null
  private final long[] bounds; // the first tick of each range, and the first one after it
  final long start; // the first tick of the ranges
  final long end; // the first tick after the ranges; the greatest number: they have no end

  private TimeRange(long[] bounds, String column) {
    this.bounds = bounds;
    this.column = column;
    this.start = bounds.length == 0 ? LEAST : bounds[0];
    this.end = bounds.length == 0 ? LEAST : bounds[bounds.length - 1];
  }

  private static TimeRange between(long start, long end) {
    return isEmpty(start, end) ? NONE : new TimeRange(new long[] {start, end}, null);
  }

  private static boolean isEmpty(long start, long end) {
    return start >= end && end != GREATEST;
  }

  /**
   * Returns the range of the rows that can match all filters; the designated timestamp can be null.
   */
  static TimeRange of(Seq<Filter> filters, String column) {
    TimeRange range = ALL;
    if (column == null) {
      return range;
    }
    for (Filter filter : Scala.list(filters)) {
      range = range.and(of(filter, column));
    }
    return new TimeRange(range.bounds, column);
  }

  /** Returns the range for a transaction; another column can be its designated timestamp. */
  TimeRange in(TableSnapshot snapshot) {
    boolean isOfTimestamp = snapshot.timestamp != null && snapshot.timestamp.name.equals(column);
    return isOfTimestamp ? this : ALL;
  }

  /** Returns whether all times of a half-open interval are in the range. */
  boolean covers(long from, long to) {
    int i = firstAfter(from);
    return i < bounds.length && bounds[i] <= from && to <= bounds[i + 1];
  }

  /** Returns whether some time of a half-open interval can be in the range. */
  boolean overlaps(long from, long to) {
    int i = firstAfter(from);
    return i < bounds.length && isBefore(bounds[i], to);
  }

  private static boolean isBefore(long time, long end) {
    return time < end || end == GREATEST; // the greatest number: there is no end
  }

  /** Returns the ranges that overlap a half-open interval. */
  TimeRange overlapping(long from, long to) {
    int first = firstAfter(from);
    int last = first;
    while (last < bounds.length && isBefore(bounds[last], to)) {
      last += 2;
    }
    return new TimeRange(Arrays.copyOfRange(bounds, first, last), column);
  }

  /** Returns the place of the first range that does not end at a time or before it. */
  private int firstAfter(long time) {
    int low = 0;
    int high = bounds.length / 2;
    while (low < high) {
      int middle = (low + high) >>> 1;
      long stop = bounds[2 * middle + 1];
      if (stop <= time && stop != GREATEST) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return 2 * low;
  }

  /** Returns whether a filter matches exactly the times in the range of the filter. */
  static boolean isExact(Filter filter, String column) {
    Long ticks = value(Attributes.literal(filter, column));
    return ticks != null && ticks.longValue() != GREATEST;
  }

  private static TimeRange of(Filter filter, String column) {
    if (filter instanceof And) {
      return of(((And) filter).left(), column).and(of(((And) filter).right(), column));
    }
    if (filter instanceof Or) {
      return of(((Or) filter).left(), column).or(of(((Or) filter).right(), column));
    }
    if (filter instanceof In && Attributes.isOf(((In) filter).attribute(), column)) {
      return ofAny(((In) filter).values());
    }
    Long value = value(Attributes.literal(filter, column));
    if (value == null) {
      return ALL;
    }
    long ticks = value.longValue();
    if (filter instanceof EqualTo) {
      return closed(ticks, ticks);
    }
    if (filter instanceof GreaterThan) {
      return after(ticks);
    }
    if (filter instanceof GreaterThanOrEqual) {
      return between(ticks, GREATEST);
    }
    return filter instanceof LessThan ? between(LEAST, ticks) : closed(LEAST, ticks);
  }

  private static TimeRange ofAny(Object[] values) {
    long[] times = new long[values.length];
    for (int i = 0; i < times.length; i++) {
      Long value = value(values[i]);
      if (value == null) {
        return ALL;
      }
      times[i] = value.longValue();
    }
    Arrays.sort(times);
    Union all = new Union(times.length);
    for (long time : times) {
      all.add(time, time == GREATEST ? GREATEST : time + 1);
    }
    return all.result();
  }

  /** Returns a literal in ticks, or null if it is of another class, out of range or not exact. */
  static Long value(Object literal) {
    try {
      if (literal instanceof Long) { // a timestamp in nanoseconds is a BIGINT
        return (Long) literal;
      }
      Instant instant =
          literal instanceof Timestamp
              ? ((Timestamp) literal).toInstant()
              : literal instanceof Instant ? (Instant) literal : null;
      if (instant == null
          || (literal instanceof Timestamp && instant.getEpochSecond() < FIRST_EXACT_SECOND)) {
        return null;
      }
      long seconds = Math.multiplyExact(instant.getEpochSecond(), 1_000_000L);
      return Long.valueOf(Math.addExact(seconds, (long) (instant.getNano() / 1000)));
    } catch (ArithmeticException e) {
      return null;
    }
  }

  private static TimeRange closed(long first, long last) {
    return between(first, last == GREATEST ? GREATEST : last + 1);
  }

  private static TimeRange after(long value) {
    return between(value == GREATEST ? GREATEST : value + 1, GREATEST);
  }

  private TimeRange and(TimeRange other) {
    Union all = new Union((bounds.length + other.bounds.length) / 2);
    int i = 0;
    int j = 0;
    while (i < bounds.length && j < other.bounds.length) {
      all.add(Math.max(bounds[i], other.bounds[j]), Math.min(bounds[i + 1], other.bounds[j + 1]));
      if (bounds[i + 1] < other.bounds[j + 1]) {
        i += 2;
      } else {
        j += 2;
      }
    }
    return all.result();
  }

  private TimeRange or(TimeRange other) {
    Union all = new Union((bounds.length + other.bounds.length) / 2);
    int i = 0;
    int j = 0;
    while (i < bounds.length || j < other.bounds.length) {
      boolean isOwn =
          j == other.bounds.length || (i < bounds.length && bounds[i] <= other.bounds[j]);
      long[] from = isOwn ? bounds : other.bounds;
      int place = isOwn ? i : j;
      all.add(from[place], from[place + 1]);
      i += isOwn ? 2 : 0;
      j += isOwn ? 0 : 2;
    }
    return all.result();
  }

  /** Ranges in the order of their starts, of which those that touch each other become one. */
  private static final class Union {
    private final long[] bounds;
    private int length = 0;

    Union(int ranges) {
      bounds = new long[2 * ranges];
    }

    void add(long start, long end) {
      if (isEmpty(start, end)) {
        return;
      }
      if (length > 0 && start <= bounds[length - 1]) {
        bounds[length - 1] = Math.max(bounds[length - 1], end);
        return;
      }
      bounds[length] = start;
      bounds[length + 1] = end;
      length += 2;
    }

    TimeRange result() {
      if (length > 2 * MAX_RANGES) {
        return between(bounds[0], bounds[length - 1]);
      }
      return new TimeRange(Arrays.copyOf(bounds, length), null);
    }
  }
}
