package io.xskip.rewrite;

import io.xskip.catalyst.NodeReplacement;
import io.xskip.scan.FactsQuestion;
import io.xskip.scan.FileSelection;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The choice of the files that can have one of the first rows in an order, or in one of several, in
 * each group of rows with equal keys [PLN-TK].
 */
final class TopSelection {
  private static final String NAME = "top-k";

  private final RelationChain chain;
  private final FactColumns columns = new FactColumns();
  private final List<SortOrder> orders;

  private TopSelection(RelationChain chain, List<SortOrder> orders) {
    this.chain = chain;
    this.orders = orders;
  }

  /**
   * Returns a node that reads only the files of a chain below it that can have first rows.
   *
   * @param child the chain
   * @param keys the keys of the groups, as outputs of the chain
   * @param orders the first sort key of each order
   * @param rows the number of first rows that the node needs of each group and order
   */
  static LogicalPlan rewrite(
      LogicalPlan node, LogicalPlan child, List<Expression> keys, List<SortOrder> orders, int rows)
      throws Exception {
    RelationChain chain = RelationChain.of(child);
    FileSelection selection = new TopSelection(chain, orders).select(keys, rows);
    return selection == null
        ? node
        : (LogicalPlan) node.transformDown(new NodeReplacement(child, chain.selecting(selection)));
  }

  /** Returns the units that can have first rows, or null if these can be all. */
  private FileSelection select(List<Expression> keys, int rows) throws Exception {
    FileKeys groups = FileKeys.of(keys, chain, columns);
    List<Expression> conditions = chain.conditions();
    if (groups == null || conditions == null || rows == 0 || !addColumns()) {
      return null;
    }
    FactsQuestion question = new FactsQuestion(conditions, columns.all(), columns.needs(), rows);
    FileFacts files = chain.facts(question);
    if (files == null) {
      return null;
    }
    ColumnFacts[] facts = columns.facts(files);
    Map<List<Object>, List<Integer>> members = new LinkedHashMap<>();
    BitSet isNeeded = members(files, facts, groups, members);
    for (SortOrder order : orders) {
      TopFiles top = topFiles(files, facts, order);
      for (List<Integer> positions : members.values()) {
        for (Integer position : top.needed(positions, rows)) {
          isNeeded.set(position.intValue());
        }
      }
    }
    FileSelection selection =
        new FileSelection(NAME, question, files, isNeeded, FileSelection.Kind.COMPLETE);
    return selection.isWhole() ? null : selection;
  }

  /** Adds the columns of the orders; returns false if there is no bound of one. */
  private boolean addColumns() {
    for (SortOrder order : orders) {
      Attribute column = chain.column(order.child());
      if (column == null || !ExactColumns.contain(column)) {
        return false;
      }
      if (chain.partition(column) < 0) {
        columns.addNeed(columns.position(column), need(order));
      }
    }
    return true;
  }

  /** Returns which rows an order needs of its column. */
  private static String need(SortOrder order) {
    String end = order.direction() == Ascending$.MODULE$ ? "least" : "greatest";
    return order.nullOrdering() == NullsFirst$.MODULE$ ? end + "_or_null" : end;
  }

  /**
   * Adds the units of each group.
   *
   * @return the units whose rows can be of several groups
   */
  private static BitSet members(
      FileFacts files,
      ColumnFacts[] facts,
      FileKeys keys,
      Map<List<Object>, List<Integer>> members) {
    BitSet mixed = new BitSet(files.count());
    for (int i = 0; i < files.count(); i++) {
      List<Object> group = keys.values(files, facts, i);
      mixed.set(i, group == null);
      if (group != null) {
        if (!members.containsKey(group)) {
          members.put(group, new ArrayList<Integer>());
        }
        ((List<Integer>) members.get(group)).add(Integer.valueOf(i));
      }
    }
    return mixed;
  }

  private TopFiles topFiles(FileFacts files, ColumnFacts[] facts, SortOrder order) {
    Attribute column = chain.column(order.child());
    int partition = chain.partition(column);
    return new TopFiles(
        files, partition < 0 ? facts[columns.position(column)] : null, partition, order);
  }
}
