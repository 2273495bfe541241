package questdb;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.RelationProvider;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * The data source {@code questdb}, whose name Spark resolves to this class.
 *
 * <p>Spark loads the class with the application's class loader, which does not see the classes of
 * the hook. The session's rule leads to them.
 */
public final class DefaultSource
    implements RelationProvider, CreatableRelationProvider, DataSourceRegister {
  private static final String RULE = "io.xskip.bridge.SkippingRule";
  private static final List<String> OPTIONS = Arrays.asList("path", "frozen");

  /** An option that Hive's catalog adds to each table. */
  private static final String OF_HIVE = "serialization.format";

  @Override
  public String shortName() {
    return "questdb";
  }

  /** Fails: without this method, Spark would report an error of its own. */
  @Override
  public BaseRelation createRelation(
      SQLContext context, SaveMode mode, Map<String, String> parameters, Dataset<Row> rows) {
    throw new UnsupportedOperationException(
        "Spark cannot write to a table of QuestDB on disk; send the rows to the server, or save"
            + " them in another format");
  }

  @Override
  public BaseRelation createRelation(SQLContext context, Map<String, String> parameters) {
    demandKnown(parameters);
    Option<String> path = parameters.get("path");
    if (path.isEmpty()) {
      throw new IllegalArgumentException(
          "the data source questdb needs the path of a table, such as"
              + " spark.read.format(\"questdb\").load(\"/var/lib/questdb/db/trades\")");
    }
    boolean isFrozen = isFrozen(parameters.get("frozen"));
    SparkSession session = context.sparkSession();
    try {
      Object rule = rule(session);
      Object tables = rule.getClass().getMethod("extension", String.class).invoke(rule, "questdb");
      return (BaseRelation)
          tables
              .getClass()
              .getMethod("relation", Object.class, String.class, boolean.class)
              .invoke(tables, session, path.get(), Boolean.valueOf(isFrozen));
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof RuntimeException) {
        throw (RuntimeException) e.getCause();
      }
      throw new IllegalStateException(e.getCause());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean isFrozen(Option<String> option) {
    String value = option.isEmpty() ? "false" : (String) option.get();
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new IllegalArgumentException(
          "the option frozen of the data source questdb is " + value + ", and not true or false");
    }
    return value.equalsIgnoreCase("true");
  }

  private static void demandKnown(Map<String, String> parameters) {
    Iterator<String> names = parameters.keys().iterator();
    while (names.hasNext()) {
      String name = (String) names.next();
      if (!name.equals(OF_HIVE) && !OPTIONS.contains(name.toLowerCase(java.util.Locale.ROOT))) {
        throw new IllegalArgumentException(
            "the data source questdb has no option " + name + "; its options are " + OPTIONS);
      }
    }
  }

  private static Object rule(SparkSession session) {
    Iterator<Rule<LogicalPlan>> rules = session.experimental().extraOptimizations().iterator();
    while (rules.hasNext()) {
      Rule<LogicalPlan> rule = (Rule<LogicalPlan>) rules.next();
      if (rule.ruleName().equals(RULE)) {
        return rule;
      }
    }
    throw new IllegalStateException(
        "xskip is not enabled in this session; call xskip.enable(spark)");
  }
}
