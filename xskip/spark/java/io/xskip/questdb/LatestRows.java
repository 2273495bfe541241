package io.xskip.questdb;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import scala.collection.immutable.Seq;

/**
 * A query for the latest row of each value of a SYMBOL column, and the pieces with such a row.
 * Rules: [QDB-SP-9].
 */
final class LatestRows {
  private static final long MAX_BYTES = 512L << 20; // of keys that the driver reads for one query

  private final String timestamp;
  private final String symbol;
  private final TimeRange range;
  private final SymbolFilter[] filters;
  private final boolean hasNull;

  private TableDescription known = null; // the transaction of the last answer
  private boolean[] needed = null;

  private LatestRows(String timestamp, String symbol, Seq<Filter> filters, boolean hasNull) {
    this.timestamp = timestamp;
    this.symbol = symbol;
    this.range = TimeRange.of(filters, timestamp);
    this.filters = SymbolFilter.of(filters);
    this.hasNull = hasNull;
  }

  /**
   * Returns the query, or null if a filter says anything else than times or values of the column.
   */
  static LatestRows of(String timestamp, String symbol, List<Filter> filters) {
    List<Filter> conjuncts = new ArrayList<>();
    for (Filter filter : filters) {
      split(filter, conjuncts);
    }
    boolean hasNull = true;
    for (Filter filter : conjuncts) {
      boolean isOfSymbol = isOf(filter, symbol);
      boolean isOfTime =
          TimeRange.isExact(filter, timestamp)
              || (filter instanceof IsNotNull
                  && Attributes.isOf(((IsNotNull) filter).attribute(), timestamp));
      if (!isOfSymbol && !isOfTime) {
        return null;
      }
      hasNull &= !isOfSymbol;
    }
    return new LatestRows(timestamp, symbol, (Seq<Filter>) Scala.seq(conjuncts), hasNull);
  }

  private static void split(Filter filter, List<Filter> conjuncts) {
    if (filter instanceof And) {
      split(((And) filter).left(), conjuncts);
      split(((And) filter).right(), conjuncts);
    } else {
      conjuncts.add(filter);
    }
  }

  /** Returns whether a filter is for some values of a column, none of which is null. */
  private static boolean isOf(Filter filter, String column) {
    if (filter instanceof IsNotNull) {
      return Attributes.isOf(((IsNotNull) filter).attribute(), column);
    }
    if (filter instanceof EqualTo) {
      EqualTo equal = (EqualTo) filter;
      return Attributes.isOf(equal.attribute(), column) && equal.value() instanceof String;
    }
    if (!(filter instanceof In) || !Attributes.isOf(((In) filter).attribute(), column)) {
      return false;
    }
    for (Object value : ((In) filter).values()) {
      if (value != null && !(value instanceof String)) {
        return false;
      }
    }
    return true;
  }

  /** Returns for each piece of a transaction whether it can have a latest row. */
  synchronized boolean[] needed(TableDescription table) {
    if (table != known) {
      needed = read(table);
      known = table;
    }
    return needed;
  }

  /** Returns the number of rows of the pieces of a transaction that can have a latest row. */
  long rows(TableDescription table) {
    boolean[] found = needed(table);
    long sum = 0;
    for (int i = 0; i < found.length; i++) {
      if (found[i] && range.overlaps(table.start(i), table.end(i))) {
        sum += table.piece(i).rows;
      }
    }
    return sum;
  }

  private boolean[] read(TableDescription table) {
    boolean[] found = new boolean[table.count()];
    Arrays.fill(found, true);
    TableColumn column = table.snapshot.column(symbol);
    TableColumn time = table.snapshot.timestamp;
    boolean isPossible =
        time != null
            && time.name.equals(timestamp)
            && column != null
            && column.kind.equals("SYMBOL");
    BitSet open = isPossible && found.length > 0 ? wanted(table.piece(0), column) : null;
    long[] left = {MAX_BYTES};
    for (int i = found.length - 1; i >= 0 && open != null; i--) {
      if (open.isEmpty()) {
        found[i] = false;
      } else if (range.overlaps(table.start(i), table.end(i))) {
        Piece piece = table.piece(i);
        boolean isWhole = range.covers(table.start(i), table.end(i));
        String identity = identity(table, i, column);
        BitSet keys = isWhole ? SymbolKeys.known(identity) : null;
        if (keys == null && !piece.isParquet()) {
          keys = keys(piece, column, left);
          if (isWhole && keys != null && piece.isStampSettled()) {
            SymbolKeys.keep(identity, keys);
          }
        }
        if (keys != null) {
          found[i] = keys.intersects(open);
          open.andNot(keys);
        }
      }
    }
    return found;
  }

  /** Returns the keys whose latest rows are wanted, or null if they cannot be read. */
  private BitSet wanted(Piece piece, TableColumn column) {
    BitSet wanted = new BitSet(column.symbolCount + 1);
    wanted.set(hasNull ? 0 : 1, column.symbolCount + 1);
    if (filters.length == 0) {
      return wanted;
    }
    try {
      Symbols symbols = Symbols.of(piece, column);
      for (SymbolFilter filter : filters) {
        if (filter.isFor(column)) {
          boolean[] keys = filter.keys(symbols);
          for (int key = 0; key < column.symbolCount; key++) {
            if (keys == null || !keys[key]) {
              wanted.clear(key + 1);
            }
          }
        }
      }
      new SnapshotCheck(piece).demandUnchanged();
      return wanted;
    } catch (Exception e) {
      return null; // the tasks tell what is the matter
    }
  }

  /**
   * Returns the keys in the range of time in a piece, or null if they cannot be read in the bytes
   * that are left.
   */
  private BitSet keys(Piece piece, TableColumn column, long[] left) {
    try {
      long[] rows = new TimeSearch(piece, piece.snapshot.timestamp).rows(range);
      long bytes = Math.max(rows[1] - rows[0], 0) * Integer.BYTES;
      if (bytes > left[0]) {
        return null;
      }
      left[0] -= bytes;
      return SymbolKeys.read(piece, column, rows);
    } catch (Exception e) {
      return null; // the tasks tell what is the matter
    }
  }

  private static String identity(TableDescription table, int i, TableColumn column) {
    return table.folder(i) + "\u0000" + table.digest(i) + "\u0000" + column.writerIndex;
  }

  @Override
  public String toString() {
    return "latest by " + symbol;
  }
}
