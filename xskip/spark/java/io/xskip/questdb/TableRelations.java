package io.xskip.questdb;

import io.xskip.common.Failures;
import java.util.function.Function;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** The relations of tables of QuestDB. */
public final class TableRelations {
  /** Sets the function in Python that describes tables. */
  public void setCallback(Function<String, byte[]> callback) {
    TableState.callback = callback;
  }

  /**
   * Returns the relation of a table.
   *
   * @param path the path of the table as the user names it
   * @param isFrozen whether no server writes to the table
   */
  public HadoopFsRelation relation(Object session, String path, boolean isFrozen) throws Exception {
    TableState state = new TableState(path, isFrozen, "");
    return TierRelations.table(session, state);
  }

  /**
   * Returns the relations of a table and its cold tier.
   *
   * @param path the path of the table as the user names it
   * @param cold the folder of the cold tier
   */
  public TierRelations tiers(Object session, String path, String cold) throws Exception {
    return new TierRelations(session, new TableState(path, false, cold));
  }

  /**
   * Returns a DataFrame with the same latest row of each value of a column that reads fewer pieces,
   * and the greatest number of rows that it reads; or the DataFrame itself, and null.
   *
   * @param timestamp the position of the timestamp among the columns
   * @param symbol the position of the column whose values each give a row
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
