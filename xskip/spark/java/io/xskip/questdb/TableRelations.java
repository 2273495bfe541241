package io.xskip.questdb;

import io.xskip.common.Failures;
import java.util.function.Function;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** The relations of tables of QuestDB. */
public final class TableRelations {
  public void setCallback(Function<String, byte[]> callback) {
    TableState.callback = callback;
  }

  /** Returns the relation of a table; {@code isFrozen}: no server writes to it. */
  public HadoopFsRelation relation(Object session, String path, boolean isFrozen) throws Exception {
    TableState state = new TableState(path, isFrozen, "");
    return TierRelations.table(session, state);
  }

  /** Returns the relations of a table and the folder of its cold tier. */
  public TierRelations tiers(Object session, String path, String cold) throws Exception {
    return new TierRelations(session, new TableState(path, false, cold));
  }

  /**
   * Returns a DataFrame with the same latest rows by a column that reads fewer pieces, and its
   * rows, as {@link LatestQuery}.
   */
  public Object[] latest(Object df, int timestamp, int symbol) {
    try {
      return new LatestQuery(df).result(timestamp, symbol);
    } catch (Throwable t) {
      Failures.logFailure("the selection of pieces with the latest rows", t);
      return new Object[] {df, null};
    }
  }
}
