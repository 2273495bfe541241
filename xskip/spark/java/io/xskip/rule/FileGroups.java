package io.xskip.rule;

import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.collection.immutable.Seq;

/** The groups of files with one value of each key, and the aggregates of each group. */
final class FileGroups extends FileSums {
  private final Aggregate aggregate;
  private final RelationChain chain;

  /** The keys as columns of the relation. */
  private final List<Attribute> keys;

  private final List<Attribute> fileKeys;
  private final AggregateParts first;
  private final Map<List<Object>, AggregateParts> groups = new LinkedHashMap<>();

  private FileGroups(
      Aggregate aggregate,
      RelationChain chain,
      List<Attribute> keys,
      List<Attribute> fileKeys,
      AggregateParts first) {
    this.aggregate = aggregate;
    this.chain = chain;
    this.keys = keys;
    this.fileKeys = fileKeys;
    this.first = first;
  }

  /** Returns the keys of groups as columns of the relation, or null if they are others. */
  static List<Attribute> keys(Aggregate aggregate, RelationChain chain) {
    List<Attribute> keys = new ArrayList<>();
    for (Expression key : Scala.list(aggregate.groupingExpressions())) {
      Attribute column = chain.column(key);
      if (column == null || !ExactColumns.contain(column)) {
        return null;
      }
      keys.add(column);
    }
    return keys;
  }

  /** Returns no groups yet, or null if an aggregate needs the rows. */
  static FileGroups of(Aggregate aggregate, RelationChain chain, List<Attribute> keys) {
    List<Attribute> fileKeys = new ArrayList<>();
    for (Attribute key : keys) {
      if (chain.partition(key) < 0) {
        fileKeys.add(key);
      }
    }
    AggregateParts parts = AggregateParts.of(AggregateRewrite.results(aggregate), chain, fileKeys);
    return parts == null ? null : new FileGroups(aggregate, chain, keys, fileKeys, parts);
  }

  @Override
  List<Expression> columns() {
    return first.columns();
  }

  @Override
  ColumnFacts[] facts(FileFacts files) {
    return first.facts(files);
  }

  /** Returns the aggregates, of no group. */
  AggregateParts parts() {
    return first;
  }

  @Override
  boolean addFile(FileFacts files, ColumnFacts[] facts, int position) {
    List<Object> group = new ArrayList<>();
    for (Attribute key : keys) {
      int partition = chain.partition(key);
      if (partition >= 0) {
        InternalRow values = files.partition(position);
        boolean isNull = values.isNullAt(partition);
        group.add(isNull ? null : values.get(partition, key.dataType()));
      } else {
        ColumnFacts column = facts[first.position(key)];
        int ordinal = files.ordinal(position);
        if (!isConstant(column, ordinal)) {
          return false;
        }
        group.add(column.low(ordinal));
      }
    }
    if (files.rows(position) == 0) {
      return true; // no row has the keys
    }
    AggregateParts parts = (AggregateParts) groups.get(group);
    if (parts == null) {
      parts = AggregateParts.of(AggregateRewrite.results(aggregate), chain, fileKeys);
      if (!parts.addFile(files, facts, position)) {
        return false;
      }
      groups.put(group, parts);
      return true;
    }
    return parts.addFile(files, facts, position);
  }

  /** Returns whether all rows of a file certainly have the same value or NULL in a column. */
  private static boolean isConstant(ColumnFacts column, int ordinal) {
    boolean isOneValue =
        column.isExact(ordinal)
            && column.nulls(ordinal) == 0
            && column.low(ordinal).equals(column.high(ordinal));
    return isOneValue || column.isEmpty(ordinal);
  }

  /** Returns a relation with a row for each group, with the columns of a plan. */
  LogicalPlan relation(LogicalPlan plan) throws Exception {
    List<Attribute> output = new ArrayList<>();
    for (Attribute column : Scala.list(plan.output())) {
      output.add((Attribute) column.newInstance());
    }
    List<InternalRow> rows = new ArrayList<>();
    for (Map.Entry<List<Object>, AggregateParts> group : groups.entrySet()) {
      List<Object> values = new ArrayList<>((List<Object>) group.getKey());
      for (AggregatePart part : ((AggregateParts) group.getValue()).all()) {
        values.add(part.value());
      }
      rows.add(new GenericInternalRow(values.toArray()));
    }
    Seq<Attribute> columns = (Seq<Attribute>) Scala.seq(output);
    Seq<InternalRow> data = (Seq<InternalRow>) Scala.seq(rows);
    Object relation =
        SparkCompat.newInstance(
            LocalRelation.class, new Object[] {columns, data, Boolean.FALSE, Option.empty()});
    if (relation == null) { // before Spark 4
      relation =
          SparkCompat.newInstance(LocalRelation.class, new Object[] {columns, data, Boolean.FALSE});
    }
    return (LogicalPlan) relation;
  }
}
