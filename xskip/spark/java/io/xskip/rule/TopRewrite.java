package io.xskip.rule;

import io.xskip.catalyst.NodeReplacement;
import io.xskip.scan.FactsQuestion;
import io.xskip.scan.FileSelection;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;

/**
 * Rewrites ORDER BY with LIMIT over a relation: files whose rows all come after enough rows of
 * other files are not read [PLN-TK].
 */
final class TopRewrite implements Rewrite {
  private static final String NAME = "top-k";

  @Override
  public boolean matches(LogicalPlan node) {
    return node instanceof LocalLimit
        && ((LocalLimit) node).limitExpr() instanceof Literal
        && sort(((LocalLimit) node).child()) != null;
  }

  /** Returns the sort of a relation below projections, or null. */
  private static Sort sort(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project) {
      node = ((Project) node).child();
    }
    return node instanceof Sort
            && ((Sort) node).global()
            && !((Sort) node).order().isEmpty()
            && RelationChain.of(((Sort) node).child()) != null
        ? (Sort) node
        : null;
  }

  @Override
  public LogicalPlan rewrite(LogicalPlan node) throws Exception {
    Object rows = ((Literal) ((LocalLimit) node).limitExpr()).value();
    Sort sort = sort(((LocalLimit) node).child());
    RelationChain chain = RelationChain.of(sort.child());
    SortOrder first = (SortOrder) sort.order().head();
    Attribute column = chain.column(first.child());
    List<Expression> conditions = chain.conditions();
    boolean isKnown = column != null && ExactColumns.contain(column) && conditions != null;
    if (!isKnown || !(rows instanceof Integer) || ((Integer) rows).intValue() == 0) {
      return node;
    }
    List<Expression> columns = new ArrayList<>();
    if (chain.partition(column) < 0) {
      columns.add(column);
    }
    FactsQuestion question = new FactsQuestion(conditions, columns);
    FileFacts files = chain.facts(question);
    if (files == null) {
      return node;
    }
    TopFiles top = new TopFiles(files, column.dataType(), chain.partition(column), first);
    FileSelection selection = new FileSelection(NAME, question, files.count(), false);
    for (int position : top.needed(((Integer) rows).intValue())) {
      selection.add(files, position);
    }
    return selection.count() == files.count()
        ? node
        : (LogicalPlan)
            node.transformDown(new NodeReplacement(sort.child(), chain.selecting(selection)));
  }
}
