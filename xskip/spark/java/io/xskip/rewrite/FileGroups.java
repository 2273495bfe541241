package io.xskip.rewrite;

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
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.collection.immutable.Seq;

/** The groups of files with one value of each key, and the aggregates of each group. */
final class FileGroups extends FileSums {
  private final FileKeys keys;
  private final AggregateParts first;
  private final Map<List<Object>, AggregateParts> groups = new LinkedHashMap<>();

  private FileGroups(FileKeys keys, AggregateParts first) {
    this.keys = keys;
    this.first = first;
  }

  /** Returns no groups yet, or null if the aggregation needs the rows. */
  static FileGroups of(Aggregate aggregate, RelationChain chain) throws Exception {
    AggregateOperands operands = new AggregateOperands(chain);
    FileKeys keys =
        FileKeys.of(Scala.list(aggregate.groupingExpressions()), chain, operands.columns());
    AggregateParts parts =
        keys == null ? null : AggregateParts.of(AggregateRewrite.results(aggregate), operands);
    return parts == null ? null : new FileGroups(keys, parts);
  }

  @Override
  AggregateOperands operands() {
    return first.operands();
  }

  /** Returns the aggregates, of no group. */
  AggregateParts parts() {
    return first;
  }

  @Override
  boolean addFile(FileFacts files, ColumnFacts[] facts, int position) {
    List<Object> group = keys.values(files, facts, position);
    if (group == null) {
      return false;
    }
    if (files.rows(position) == 0) {
      return true; // no row has the keys
    }
    AggregateParts parts = (AggregateParts) groups.get(group);
    if (parts == null) {
      parts = first.empty();
      if (!parts.addFile(files, facts, position)) {
        return false;
      }
      groups.put(group, parts);
      return true;
    }
    return parts.addFile(files, facts, position);
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
