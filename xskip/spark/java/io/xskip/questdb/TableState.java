package io.xskip.questdb;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.common.Json;
import io.xskip.connection.HookState;
import io.xskip.shims.SparkCompat;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.types.StructField;

/** A table in the driver, and its transactions that queries read. Rules: [QDB-SP]. */
final class TableState {
  private static final int MAX_EXECUTIONS = 200;
  private static final int MAX_ATTEMPTS = 10;
  private static final long PAUSE_NANOS = 100_000L;
  private static final long MAX_AGE_NANOS = 1_000_000_000L;
  private static final String EXECUTION = "spark.sql.execution.id";

  static volatile Function<String, byte[]> callback = null; // of Python, which describes tables

  // by execution and table: tables can be loaded repeatedly
  private static final Map<String, TableOfExecution> BY_EXECUTION = new LinkedHashMap<>();

  private final String path;
  private final boolean isFrozen; // whether no server writes to the table
  private final String cold; // the folder of the cold tier that is read with it, or an empty text
  private final TableDescription first;
  private TableDescription latest;
  private long refreshedAt = System.nanoTime();

  /** Reads the last transaction of a table by its path as the user names it. */
  TableState(String path, boolean isFrozen, String cold) throws Exception {
    this.path = path;
    this.isFrozen = isFrozen;
    this.cold = cold;
    this.first = described(null);
    this.latest = first;
  }

  String path() {
    return path;
  }

  /** Returns the transaction of the last query. */
  synchronized TableDescription latest() {
    return latest;
  }

  /**
   * Returns the transaction that all scans of the current execution read: the last one when the
   * first listed its files.
   */
  synchronized TableDescription current() {
    TableOfExecution own = ofExecution();
    if (own != null) {
      use(own.table());
    } else if (System.nanoTime() - refreshedAt > MAX_AGE_NANOS) { // as below df.rdd
      refresh();
    }
    return latest;
  }

  /**
   * Opens the pieces' files until the execution ends, or returns false if the caller has to list
   * another transaction.
   */
  synchronized boolean hold(TableDescription table, boolean[] wanted, int attempt) {
    TableOfExecution own = ofExecution();
    // Only tasks in this process can use the files.
    if (own == null || isFrozen || !SparkCompat.context().isLocal()) {
      return true;
    }
    if (own.hold(table, wanted)) {
      return true;
    }
    if (attempt >= MAX_ATTEMPTS) {
      own.fix();
      return true;
    }
    // A server has removed a file: the next transaction is taken if no scan has a listing.
    LockSupport.parkNanos(PAUSE_NANOS << attempt);
    refresh();
    return !own.replace(table, latest);
  }

  synchronized OpenFiles openFiles() {
    TableOfExecution own = ofExecution();
    return own == null ? null : own.openFiles();
  }

  /** Makes all scans of the current execution keep to its transaction. */
  synchronized void fix() {
    TableOfExecution own = ofExecution();
    if (own != null) {
      own.fix();
    }
  }

  /** Returns the transaction of the current execution, or null if there is no execution. */
  private TableOfExecution ofExecution() {
    SparkContext context = SparkCompat.context();
    String execution = context == null ? null : context.getLocalProperty(EXECUTION);
    if (execution == null) {
      return null;
    }
    String key = execution + "\u0000" + isFrozen + cold + "\u0000" + path;
    TableOfExecution known = known(key);
    if (known == null) {
      refresh();
      known = remembered(key, new TableOfExecution(Long.parseLong(execution), latest));
    }
    return known;
  }

  private void use(TableDescription table) {
    if (table != latest) {
      demandColumns(table);
      latest = table;
    }
  }

  private static TableOfExecution known(String key) {
    synchronized (BY_EXECUTION) {
      return (TableOfExecution) BY_EXECUTION.get(key);
    }
  }

  /** Remembers the transaction of an execution, and returns the one that another thread has. */
  private static TableOfExecution remembered(String key, TableOfExecution table) {
    synchronized (BY_EXECUTION) {
      TableOfExecution known = (TableOfExecution) BY_EXECUTION.get(key);
      if (known != null) {
        return known;
      }
      BY_EXECUTION.put(key, table);
      if (BY_EXECUTION.size() > MAX_EXECUTIONS) {
        BY_EXECUTION.remove(BY_EXECUTION.keySet().iterator().next());
      }
      return table;
    }
  }

  synchronized void refresh() {
    refreshedAt = System.nanoTime();
    try {
      TableDescription found = described(latest);
      if (found != null) {
        use(found);
      }
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  // Columns of the DataFrame must be there, and those of the cold tier must not be others now.
  private void demandColumns(TableDescription found) {
    if (first.cold != null && !found.cold.fits(first.cold)) {
      throw new IllegalStateException(
          "exported columns of the QuestDB table "
              + path
              + " became other columns; call xskip.questdb.union again");
    }
    for (StructField field : first.schema.fields()) {
      StructField now = null;
      for (StructField each : found.schema.fields()) {
        now = each.name().equals(field.name()) ? each : now;
      }
      if (now == null || !now.dataType().equals(field.dataType())) {
        throw new IllegalStateException(
            "the column "
                + field.name()
                + " of the QuestDB table "
                + path
                + " was changed or dropped; load the table again");
      }
    }
  }

  /** Returns the last transaction, or null if it is the known one, which can be null. */
  private TableDescription described(TableDescription known) throws Exception {
    Function<String, byte[]> function = callback;
    if (function == null) {
      throw new IllegalStateException("xskip is not enabled; call xskip.enable(spark)");
    }
    StringWriter text = new StringWriter();
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    json.writeStringField("path", path);
    json.writeBooleanField("frozen", isFrozen);
    json.writeStringField("cold", cold);
    json.writeStringField("fingerprint", known == null ? "" : known.fingerprint);
    json.writeNumberField("record", known == null || known.cold == null ? -1 : known.cold.number);
    json.writeEndObject();
    json.close();
    byte[] answer = HookState.call(function, text.toString());
    if (answer == null) {
      return null;
    }
    if (answer[0] == 'E') {
      throw new IllegalArgumentException(
          new String(answer, 1, answer.length - 1, java.nio.charset.StandardCharsets.UTF_8));
    }
    return new TableDescription(answer);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableState
        && ((TableState) other).path.equals(path)
        && ((TableState) other).cold.equals(cold)
        && ((TableState) other).isFrozen == isFrozen;
  }

  @Override
  public int hashCode() {
    return path.hashCode();
  }
}
