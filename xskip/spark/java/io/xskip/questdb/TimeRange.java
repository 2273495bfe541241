package io.xskip.questdb;

import java.io.Serializable;
import java.sql.Timestamp;
import java.time.Instant;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Or;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/** A half-open range of the designated timestamp in ticks, outside of which no row matches. */
final class TimeRange implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final long LEAST = Long.MIN_VALUE;
  private static final long GREATEST = Long.MAX_VALUE;
  private static final TimeRange ALL = new TimeRange(LEAST, GREATEST);

  /** The column whose times the range is of, or null. */
  private final String column;

  /** The first tick of the range. */
  final long start;

  /** The first tick after the range; the greatest number means that the range has no end. */
  final long end;

  private TimeRange(long start, long end) {
    this(start, end, null);
  }

  private TimeRange(long start, long end, String column) {
    this.start = start;
    this.end = end;
    this.column = column;
  }

  /**
   * Returns the range of the rows that can match all filters.
   *
   * @param column the name of the designated timestamp, or null; in microseconds it is a TIMESTAMP,
   *     and in nanoseconds a BIGINT
   */
  static TimeRange of(Seq<Filter> filters, String column) {
    TimeRange range = ALL;
    if (column == null) {
      return range;
    }
    Iterator<Filter> iterator = filters.iterator();
    while (iterator.hasNext()) {
      range = range.and(of((Filter) iterator.next(), column));
    }
    return new TimeRange(range.start, range.end, column);
  }

  /** Returns the range for a transaction; another column can be its designated timestamp. */
  TimeRange in(TableSnapshot snapshot) {
    boolean isOfTimestamp = snapshot.timestamp != null && snapshot.timestamp.name.equals(column);
    return isOfTimestamp ? this : ALL;
  }

  /** Returns whether all times of a half-open interval are in the range. */
  boolean covers(long from, long to) {
    return start <= from && to <= end;
  }

  /** Returns whether some time of a half-open interval can be in the range. */
  boolean overlaps(long from, long to) {
    return start < to && (end == GREATEST || (from < end && start < end));
  }

  /** Returns whether a filter matches exactly the times in the range of the filter. */
  static boolean isExact(Filter filter, String column) {
    Object value = null;
    if (filter instanceof EqualTo && Attributes.isOf(((EqualTo) filter).attribute(), column)) {
      value = ((EqualTo) filter).value();
    } else if (filter instanceof GreaterThan
        && Attributes.isOf(((GreaterThan) filter).attribute(), column)) {
      value = ((GreaterThan) filter).value();
    } else if (filter instanceof GreaterThanOrEqual
        && Attributes.isOf(((GreaterThanOrEqual) filter).attribute(), column)) {
      value = ((GreaterThanOrEqual) filter).value();
    } else if (filter instanceof LessThan
        && Attributes.isOf(((LessThan) filter).attribute(), column)) {
      value = ((LessThan) filter).value();
    } else if (filter instanceof LessThanOrEqual
        && Attributes.isOf(((LessThanOrEqual) filter).attribute(), column)) {
      value = ((LessThanOrEqual) filter).value();
    }
    Long ticks = value(value);
    return ticks != null && ticks.longValue() != GREATEST;
  }

  private static TimeRange of(Filter filter, String column) {
    if (filter instanceof And) {
      return of(((And) filter).left(), column).and(of(((And) filter).right(), column));
    }
    if (filter instanceof Or) {
      return of(((Or) filter).left(), column).or(of(((Or) filter).right(), column));
    }
    if (filter instanceof EqualTo && Attributes.isOf(((EqualTo) filter).attribute(), column)) {
      Long value = value(((EqualTo) filter).value());
      return value == null ? ALL : closed(value.longValue(), value.longValue());
    }
    if (filter instanceof GreaterThan
        && Attributes.isOf(((GreaterThan) filter).attribute(), column)) {
      Long value = value(((GreaterThan) filter).value());
      return value == null ? ALL : after(value.longValue());
    }
    if (filter instanceof GreaterThanOrEqual
        && Attributes.isOf(((GreaterThanOrEqual) filter).attribute(), column)) {
      Long value = value(((GreaterThanOrEqual) filter).value());
      return value == null ? ALL : new TimeRange(value.longValue(), GREATEST);
    }
    if (filter instanceof LessThan && Attributes.isOf(((LessThan) filter).attribute(), column)) {
      Long value = value(((LessThan) filter).value());
      return value == null ? ALL : new TimeRange(LEAST, value.longValue());
    }
    if (filter instanceof LessThanOrEqual
        && Attributes.isOf(((LessThanOrEqual) filter).attribute(), column)) {
      Long value = value(((LessThanOrEqual) filter).value());
      return value == null ? ALL : closed(LEAST, value.longValue());
    }
    if (filter instanceof In && Attributes.isOf(((In) filter).attribute(), column)) {
      return ofAny(((In) filter).values());
    }
    return ALL;
  }

  private static TimeRange ofAny(Object[] values) {
    long least = GREATEST;
    long greatest = LEAST;
    for (Object each : values) {
      Long value = value(each);
      if (value == null) {
        return ALL;
      }
      least = Math.min(least, value.longValue());
      greatest = Math.max(greatest, value.longValue());
    }
    return least > greatest ? ALL : closed(least, greatest);
  }

  /** Returns a literal in ticks, or null if it is of another class or out of range. */
  static Long value(Object literal) {
    try {
      if (literal instanceof Long) {
        return (Long) literal;
      }
      Instant instant =
          literal instanceof Timestamp
              ? ((Timestamp) literal).toInstant()
              : literal instanceof Instant ? (Instant) literal : null;
      if (instant == null) {
        return null;
      }
      long seconds = Math.multiplyExact(instant.getEpochSecond(), 1_000_000L);
      return Long.valueOf(Math.addExact(seconds, (long) (instant.getNano() / 1000)));
    } catch (ArithmeticException e) {
      return null;
    }
  }

  private static TimeRange closed(long first, long last) {
    return new TimeRange(first, last == GREATEST ? GREATEST : last + 1);
  }

  private static TimeRange after(long value) {
    return new TimeRange(value == GREATEST ? GREATEST : value + 1, GREATEST);
  }

  private TimeRange and(TimeRange other) {
    return new TimeRange(Math.max(start, other.start), Math.min(end, other.end));
  }

  private TimeRange or(TimeRange other) {
    return new TimeRange(Math.min(start, other.start), Math.max(end, other.end));
  }
}
