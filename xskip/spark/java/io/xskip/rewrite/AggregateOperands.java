package io.xskip.rewrite;

import io.xskip.catalyst.Subqueries;
import io.xskip.shims.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.types.BooleanType$;
import scala.Option;
import scala.Tuple2;

/** The operands of aggregates over a relation, from their expressions. */
final class AggregateOperands {
  private final RelationChain chain;
  private final FactColumns columns = new FactColumns();
  private final FactPredicates predicates = new FactPredicates();

  AggregateOperands(RelationChain chain) {
    this.chain = chain;
  }

  /** Returns the columns of the files that the operands need. */
  FactColumns columns() {
    return columns;
  }

  /** Returns the predicates that decide between operands. */
  FactPredicates predicates() {
    return predicates;
  }

  /** Returns the operand of an aggregate with its FILTER, on outputs of the chain. */
  AggregateOperand operand(Expression expression, Option<Expression> filter) throws Exception {
    Expression child = chain.onRelation(expression);
    if (filter.isEmpty()) {
      return operand(child);
    }
    Expression predicate = chain.onRelation((Expression) filter.get());
    return choice(predicate, operand(child), AggregateOperand.NULL);
  }

  private AggregateOperand operand(Expression expression) {
    if (expression instanceof Literal) {
      return new AggregateOperand.Constant(((Literal) expression).value());
    }
    if (expression instanceof Attribute) {
      return column((Attribute) expression);
    }
    if (expression instanceof If) {
      If condition = (If) expression;
      return branch(condition.predicate(), condition.trueValue(), condition.falseValue());
    }
    if (expression instanceof CaseWhen) {
      return cases((CaseWhen) expression);
    }
    return expression.dataType() == BooleanType$.MODULE$
        ? truth(expression)
        : AggregateOperand.UNKNOWN;
  }

  private AggregateOperand column(Attribute column) {
    int partition = chain.partition(column);
    int position = partition < 0 ? columns.position(column) : -1;
    return new AggregateOperand.Column(
        position, partition, column.dataType(), ExactColumns.contain(column));
  }

  private AggregateOperand cases(CaseWhen expression) {
    List<Tuple2<Expression, Expression>> branches = Scala.list(expression.branches());
    Option<Expression> last = expression.elseValue();
    AggregateOperand operand =
        last.isEmpty() ? AggregateOperand.NULL : operand((Expression) last.get());
    for (int i = branches.size() - 1; i >= 0; i--) {
      Tuple2<Expression, Expression> branch = (Tuple2<Expression, Expression>) branches.get(i);
      operand = choice((Expression) branch._1(), operand((Expression) branch._2()), operand);
    }
    return operand;
  }

  private AggregateOperand branch(Expression predicate, Expression match, Expression other) {
    // count_if(p) is count(if(not p, null, p)), whose value is NULL in rows where p is not TRUE
    boolean isTrueOrNull =
        predicate instanceof Not
            && match instanceof Literal
            && ((Literal) match).value() == null
            && ((Not) predicate).child().semanticEquals(other);
    return isTrueOrNull
        ? choice(other, new AggregateOperand.Constant(Boolean.TRUE), AggregateOperand.NULL)
        : choice(predicate, operand(match), operand(other));
  }

  /** Returns a predicate as an operand: where it is neither TRUE nor FALSE, it is NULL. */
  private AggregateOperand truth(Expression predicate) {
    AggregateOperand other =
        choice(
            new Not(predicate),
            new AggregateOperand.Constant(Boolean.FALSE),
            AggregateOperand.NULL);
    return choice(predicate, new AggregateOperand.Constant(Boolean.TRUE), other);
  }

  private AggregateOperand choice(
      Expression predicate, AggregateOperand match, AggregateOperand other) {
    if (!predicate.deterministic()
        || Subqueries.isIn(predicate)
        || !(match.isKnowable() || other.isKnowable())) {
      return AggregateOperand.UNKNOWN;
    }
    return new AggregateOperand.Choice(predicates.position(predicate), match, other);
  }
}
