package io.xskip.questdb;

import io.xskip.shims.Scala;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.In;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/** A filter for some values of a column. It rules out native pieces and batches. [QDB-SP-8] */
final class SymbolFilter implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String attribute;
  private final String[] values;

  private SymbolFilter(String attribute, String[] values) {
    this.attribute = attribute;
    this.values = values;
  }

  /** Returns the filters for values of text that all rows of a result match. */
  static SymbolFilter[] of(Seq<Filter> filters) {
    List<SymbolFilter> found = new ArrayList<>();
    for (Filter filter : Scala.list(filters)) {
      add(filter, found);
    }
    return (SymbolFilter[]) found.toArray(new SymbolFilter[0]);
  }

  private static void add(Filter filter, List<SymbolFilter> found) {
    if (filter instanceof And) {
      add(((And) filter).left(), found);
      add(((And) filter).right(), found);
    } else if (filter instanceof EqualTo) {
      add(((EqualTo) filter).attribute(), new Object[] {((EqualTo) filter).value()}, found);
    } else if (filter instanceof In) {
      add(((In) filter).attribute(), ((In) filter).values(), found);
    }
  }

  /** Adds a filter for values, unless one of them is no text; null equals no value. */
  private static void add(String attribute, Object[] values, List<SymbolFilter> found) {
    List<String> texts = new ArrayList<>();
    for (Object value : values) {
      if (value instanceof String) {
        texts.add((String) value);
      } else if (value != null) {
        return;
      }
    }
    found.add(new SymbolFilter(attribute, (String[]) texts.toArray(new String[0])));
  }

  boolean isFor(TableColumn column) {
    return column.kind.equals("SYMBOL") && Attributes.isOf(attribute, column.name);
  }

  /** Returns for each key whether the filter is for its symbol, or null if it is for none. */
  boolean[] keys(Symbols symbols) {
    Set<UTF8String> texts = new HashSet<>();
    for (String value : values) {
      texts.add(UTF8String.fromString(value));
    }
    boolean[] wanted = new boolean[symbols.count()];
    boolean hasAny = false;
    for (int key = 0; key < wanted.length; key++) {
      wanted[key] = texts.contains(symbols.value(key));
      hasAny |= wanted[key];
    }
    return hasAny ? wanted : null;
  }
}
