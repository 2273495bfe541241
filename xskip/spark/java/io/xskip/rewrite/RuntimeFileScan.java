package io.xskip.rewrite;

import io.xskip.common.Failures;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;

/**
 * A scan of files of the second data source API that Spark gives the keys of joins while the query
 * runs [PLN-JN-5].
 */
final class RuntimeFileScan extends DelegatingFileScan implements SupportsRuntimeV2Filtering {
  private final List<AttributeReference> columns;

  /** The scan of the files that the filters leave, or null before Spark has them. */
  private volatile FileScan filtered = null;

  private RuntimeFileScan(FileScan scan, List<AttributeReference> columns) {
    super(scan);
    this.columns = columns;
  }

  /**
   * Returns the plan of a chain over a scan with a filter by the keys of a join.
   *
   * @param filter the subquery with the keys
   */
  static LogicalPlan filtered(
      RelationChain chain, org.apache.spark.sql.catalyst.expressions.Expression filter) {
    DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) chain.source();
    LogicalPlan source = relation;
    if (relation.scan() instanceof FileScan) {
      FileScan scan = (FileScan) relation.scan();
      RuntimeFileScan holder = new RuntimeFileScan(scan, Scala.list(relation.output()));
      source = (LogicalPlan) SparkCompat.exchange(relation, scan, holder);
    }
    return chain.replacing(new Filter(filter, source));
  }

  @Override
  public FileScan filteredScan() {
    return filtered;
  }

  @Override
  public String rewrite() {
    return "join";
  }

  @Override
  protected FileScan current() {
    FileScan known = filtered;
    return known == null ? fileScan() : known;
  }

  @Override
  public NamedReference[] filterAttributes() {
    NamedReference[] names = new NamedReference[columns.size()];
    for (int i = 0; i < names.length; i++) {
      // a name with dots is not a path
      String quoted = "`" + ((Attribute) columns.get(i)).name().replace("`", "``") + "`";
      names[i] = Expressions.column(quoted);
    }
    return names;
  }

  /** Leaves out the files without a row that satisfies all predicates; after an error, none. */
  @Override
  public void filter(Predicate[] predicates) {
    FileScan known = null;
    try {
      List<org.apache.spark.sql.catalyst.expressions.Expression> conditions =
          conditions(predicates);
      boolean isAll = conditions != null && conditions.isEmpty();
      known = isAll ? null : FileScanBuilder.withConditions(fileScan(), conditions, rewrite());
    } catch (Throwable t) {
      Failures.logFailure("pruning while a query runs", t);
    }
    filtered = known;
  }

  /** Returns conditions that each row with one of the keys satisfies; null if no row has one. */
  private List<org.apache.spark.sql.catalyst.expressions.Expression> conditions(
      Predicate[] predicates) {
    List<org.apache.spark.sql.catalyst.expressions.Expression> conditions = new ArrayList<>();
    for (Predicate predicate : predicates) {
      Attribute column = "IN".equals(predicate.name()) ? column(predicate.children()[0]) : null;
      if (column != null) {
        List<org.apache.spark.sql.catalyst.expressions.Expression> known =
            new KeyConditions(column).matching(values(predicate));
        if (known == null) {
          return null;
        }
        conditions.addAll(known);
      }
    }
    return conditions;
  }

  private Attribute column(Expression reference) {
    String[] names =
        reference instanceof NamedReference ? ((NamedReference) reference).fieldNames() : null;
    for (AttributeReference column : columns) {
      if (names != null && names.length == 1 && column.name().equals(names[0])) {
        return column;
      }
    }
    return null;
  }

  private static Object[] values(Predicate predicate) {
    Object[] values = new Object[predicate.children().length - 1];
    for (int i = 0; i < values.length; i++) {
      values[i] = ((Literal<?>) predicate.children()[i + 1]).value();
    }
    return values;
  }
}
