package io.xskip.rewrite;

import io.xskip.scan.FactsQuestion;
import io.xskip.scan.FileSelection;
import io.xskip.scan.PlannedRead;
import io.xskip.scan.PlannedReads;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.BitSet;
import java.util.Collections;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A relation of a join, and its files that can have a row with a partner. */
final class JoinedRelation {
  private static final String NAME = "join";

  private final RelationChain chain;
  private final FactColumns columns = new FactColumns();
  private FactsQuestion question = null;
  private FileFacts files = null;
  private ColumnFacts[] facts = null;

  /** The positions of the units of the listing that are left; null before the question. */
  private BitSet left = null;

  private boolean isSource = false;
  private boolean isSelective;

  JoinedRelation(RelationChain chain) {
    this.chain = chain;
    this.isSelective = isFiltered(chain);
  }

  /**
   * Returns whether few rows can be left: by a filter, but a test of NULL, or by another relation.
   */
  boolean isSelective() {
    return isSelective;
  }

  /** Notes that another relation whose rows can be few prunes this one. */
  void markSelective() {
    isSelective = true;
  }

  private static boolean isFiltered(RelationChain chain) {
    for (Expression filter : chain.filters()) {
      if (!JoinSide.isNullTest(filter)) {
        return true;
      }
    }
    return false;
  }

  /** Adds a column to the question, unless its values are those of partitions. */
  void add(Attribute column) {
    if (chain.partition(column) < 0) {
      columns.addNeed(columns.position(column), "partner");
    }
  }

  /** Asks the index the first time, and returns whether it says something of the files. */
  boolean isKnown() throws Exception {
    if (question == null) {
      question =
          new FactsQuestion(Collections.<Expression>emptyList(), columns.all(), columns.needs(), 0);
      files = chain.facts(question);
      if (files != null) {
        facts = columns.facts(files);
        left = new BitSet(files.count());
        left.set(0, files.count());
      }
    }
    return files != null;
  }

  /** Returns the bounds of a column that was added. */
  FileBounds bounds(Attribute column) {
    int partition = chain.partition(column);
    ColumnFacts known = partition < 0 ? facts[columns.position(column)] : null;
    return new FileBounds(files, known, partition, column.dataType());
  }

  BitSet left() {
    return left;
  }

  /** Notes that the rows of these files have decided about files of another relation. */
  void markSource() {
    isSource = true;
  }

  /** Returns how the files are read, or null if the index says nothing of them. */
  PlannedRead read() {
    return files == null ? null : chain.read();
  }

  /**
   * Returns a plan in which the relation reads only the files that are left.
   *
   * @param reads those of all relations that can have decided about files
   */
  LogicalPlan selecting(LogicalPlan plan, PlannedReads reads) throws Exception {
    boolean isWhole = files == null || left.cardinality() == files.count();
    if (isWhole && !isSource) {
      return plan;
    }
    FileSelection.Kind kind = isSource ? FileSelection.Kind.FIXED : FileSelection.Kind.COMPLETE;
    FileSelection selection = new FileSelection(NAME, question, files, left, kind);
    selection.setSources(reads);
    return chain.selectingIn(plan, selection);
  }
}
