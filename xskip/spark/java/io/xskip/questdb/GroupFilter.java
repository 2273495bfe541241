package io.xskip.questdb;

import io.xskip.shims.Scala;
import java.io.Serializable;
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
 * Filters that rule out row groups of Parquet pieces by the bounds in their sidecars. Rules:
 * [QDB-PM-4].
 */
final class GroupFilter implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Filter[] filters;

  GroupFilter(Seq<Filter> filters) {
    this.filters = (Filter[]) Scala.list(filters).toArray(new Filter[0]);
  }

  /** Returns whether a row group can have a row that all filters match. */
  boolean canMatch(SidecarBounds bounds) {
    for (Filter filter : filters) {
      if (!canMatch(filter, bounds)) {
        return false;
      }
    }
    return true;
  }

  private static boolean canMatch(Filter filter, SidecarBounds bounds) {
    if (filter instanceof And) {
      return canMatch(((And) filter).left(), bounds) && canMatch(((And) filter).right(), bounds);
    }
    if (filter instanceof Or) {
      return canMatch(((Or) filter).left(), bounds) || canMatch(((Or) filter).right(), bounds);
    }
    if (filter instanceof In) {
      return canMatchAny((In) filter, bounds);
    }
    return canMatchComparison(filter, bounds);
  }

  private static boolean canMatchAny(In filter, SidecarBounds bounds) {
    for (Object value : filter.values()) {
      // A null value matches no filter, so that it does not matter which values are null.
      if (value != null && canMatch(new EqualTo(filter.attribute(), value), bounds)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether a value within the bounds can match; true for a filter of another kind. */
  private static boolean canMatchComparison(Filter filter, SidecarBounds bounds) {
    String[] references = filter.references();
    TableColumn column = references.length == 1 ? bounds.column(references[0]) : null;
    long[] known = column == null ? null : bounds.of(column);
    Long value = known == null ? null : SidecarBounds.number(Attributes.literal(filter), column);
    if (value == null) {
      return true;
    }
    if (filter instanceof EqualTo) {
      return known[0] <= value.longValue() && value.longValue() <= known[1];
    }
    if (filter instanceof GreaterThan) {
      return known[1] > value.longValue();
    }
    if (filter instanceof GreaterThanOrEqual) {
      return known[1] >= value.longValue();
    }
    return filter instanceof LessThan
        ? known[0] < value.longValue()
        : known[0] <= value.longValue();
  }
}
