package io.xskip.rewrite;

import io.xskip.scan.NumberedListing;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.immutable.Seq;

/** A relation whose files have numbers in a column, so that Spark can test them as a query runs. */
final class NumberedRelation {
  private final RelationChain chain;
  private final LogicalRelation relation;
  private final NumberedListing listing;
  private final AttributeReference number;

  private NumberedRelation(
      RelationChain chain,
      LogicalRelation relation,
      NumberedListing listing,
      AttributeReference number) {
    this.chain = chain;
    this.relation = relation;
    this.listing = listing;
    this.number = number;
  }

  /** Returns the relation of a chain with numbers, or null if its files cannot have numbers. */
  static NumberedRelation of(RelationChain chain) throws Exception {
    LogicalRelation relation = chain.relation();
    HadoopFsRelation source = relation == null ? null : (HadoopFsRelation) relation.relation();
    if (source == null || source.bucketSpec().isDefined()) {
      return null;
    }
    SkippingFileIndex index = (SkippingFileIndex) source.location();
    AttributeReference number = number(relation);
    if (number == null) {
      index = index.numbering();
      relation = numbered(relation, source, index);
      number = number(relation);
    }
    NumberedListing numbers = index.numbers();
    // without numbers, a column of the dataset has the name
    return numbers == null ? null : new NumberedRelation(chain, relation, numbers, number);
  }

  private static AttributeReference number(LogicalRelation relation) {
    for (AttributeReference column : Scala.list(relation.output())) {
      if (column.name().equals(NumberedListing.NUMBER)) {
        return column;
      }
    }
    return null;
  }

  private static LogicalRelation numbered(
      LogicalRelation relation, HadoopFsRelation source, SkippingFileIndex index) throws Exception {
    Seq<String> none = (Seq<String>) Scala.seq(new ArrayList<String>());
    List<AttributeReference> output = new ArrayList<>();
    output.addAll(Scala.list(relation.output()));
    output.add(
        new AttributeReference(
            NumberedListing.NUMBER,
            IntegerType$.MODULE$,
            false,
            Metadata.empty(),
            NamedExpression$.MODULE$.newExprId(),
            none));
    HadoopFsRelation numbered = SparkCompat.withIndex(source, index, index.partitionSchema());
    Object changed = SparkCompat.exchange(relation, source, numbered);
    Seq<AttributeReference> columns = (Seq<AttributeReference>) Scala.seq(output);
    return (LogicalRelation)
        SparkCompat.exchange(
            (LogicalRelation) changed, ((LogicalRelation) changed).output(), columns);
  }

  /** Returns the listing that has the numbers. */
  NumberedListing listing() {
    return listing;
  }

  /**
   * Returns the plan of the chain with a filter on the number of a file that is TRUE if the test of
   * the file is. The filter also contains a subquery, which it does not evaluate: Spark evaluates
   * filters with subqueries while the query runs, and the test looks for the subquery's values in
   * the plan. In place of a subquery that it does not run, Spark puts TRUE.
   *
   * @param subquery a Boolean expression with the subquery
   */
  LogicalPlan filtered(IntPredicate test, Expression subquery) throws Exception {
    Expression filter = new Or(call(test), new And(new IsNull(number), subquery));
    List<NamedExpression> output = new ArrayList<>();
    for (Attribute each : Scala.list(chain.relation().output())) {
      output.add((NamedExpression) each);
    }
    Seq<NamedExpression> columns = (Seq<NamedExpression>) Scala.seq(output);
    return chain.replacing(new Project(columns, new Filter(filter, relation)));
  }

  private Expression call(IntPredicate test) throws Exception {
    Expression target = new Literal(test, new ObjectType(IntPredicate.class));
    Expression[] argument = {number};
    Seq<Expression> arguments = (Seq<Expression>) Scala.seq(Arrays.asList(argument));
    Seq<Object> noTypes = (Seq<Object>) Scala.seq(Arrays.asList(new Object[0]));
    Object[] elements = {
      target,
      "test",
      BooleanType$.MODULE$,
      arguments,
      noTypes,
      Boolean.TRUE,
      Boolean.FALSE,
      Boolean.TRUE
    };
    return (Expression) SparkCompat.newInstance(Invoke.class, elements);
  }
}
