package io.xskip.questdb;

import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSource$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * The relations of a table and of each group of exported files of its cold tier, in one transaction
 * per execution.
 */
public final class TierRelations {
  private final Object session;
  private final TableState state;
  private final List<String> groups;

  TierRelations(Object session, TableState state) {
    this.session = session;
    this.state = state;
    this.groups = new ArrayList<>(state.latest().cold.groups.keySet());
  }

  static HadoopFsRelation table(Object session, TableState state) {
    return new HadoopFsRelation(
        new PieceIndex(state),
        new StructType(),
        state.latest().schema,
        Option.empty(),
        new TableFormat(state),
        Map$.MODULE$.<String, String>empty(),
        (SparkSession) session);
  }

  public int count() {
    return groups.size();
  }

  public HadoopFsRelation table() {
    return table(session, state);
  }

  public HadoopFsRelation files(int i) throws Exception {
    String group = (String) groups.get(i);
    ColdFiles cold = state.latest().cold;
    return new HadoopFsRelation(
        new ColdIndex(state, group),
        new StructType(),
        ((ColdFiles.Group) cold.groups.get(group)).schema,
        Option.empty(),
        format(cold.format),
        Map$.MODULE$.<String, String>empty(),
        (SparkSession) session);
  }

  private FileFormat format(String name) throws Exception {
    Class<?> found = DataSource$.MODULE$.lookupDataSource(name, SparkCompat.state(session).conf());
    Object source = found.getDeclaredConstructor().newInstance();
    return source instanceof FileDataSourceV2
        ? (FileFormat)
            ((FileDataSourceV2) source).fallbackFileFormat().getDeclaredConstructor().newInstance()
        : (FileFormat) source;
  }

  /** Returns the columns of the table as SQL over the columns of a group of files. */
  public String[] columns(int i) {
    return ((ColdFiles.Group) state.latest().cold.groups.get(groups.get(i))).columns;
  }
}
