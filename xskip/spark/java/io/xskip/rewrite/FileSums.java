package io.xskip.rewrite;

import io.xskip.scan.FactsQuestion;
import io.xskip.scan.FileSelection;
import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** What an aggregation sums up of files whose rows it need not read. */
abstract class FileSums {
  /** The name of the rewrites in reports. */
  private static final String NAME = "aggregate";

  /** Returns the operands with the columns and the predicates of the question. */
  abstract AggregateOperands operands();

  /** Adds a file all of whose rows count; returns false if its metadata do not know enough. */
  abstract boolean addFile(FileFacts files, ColumnFacts[] facts, int position);

  /**
   * Adds the files of a relation that match wholly.
   *
   * @return the files whose rows have to be read, or null if nothing is known of the files
   */
  final FileSelection addFiles(RelationChain chain) throws Exception {
    List<Expression> conditions = chain.conditions();
    if (conditions == null) {
      return null;
    }
    FactsQuestion question =
        new FactsQuestion(
            conditions,
            operands().columns().all(),
            operands().columns().needs(),
            operands().predicates().all());
    FileFacts files = chain.facts(question);
    if (files == null) {
      return null;
    }
    ColumnFacts[] facts = operands().columns().facts(files);
    BitSet others = new BitSet(files.count());
    for (int i = 0; i < files.count(); i++) {
      others.set(i, !files.isWhole(i) || !addFile(files, facts, i));
    }
    return new FileSelection(NAME, question, files, others, FileSelection.Kind.FIXED);
  }
}
