package io.xskip.rewrite;

import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** The keys of groups of rows, as columns of which a file can have one value. */
final class FileKeys {
  private final List<Attribute> keys = new ArrayList<>();

  /** For each key its position among the partition columns, or -1. */
  private final List<Integer> partitions = new ArrayList<>();

  private final FactColumns columns;

  private FileKeys(FactColumns columns) {
    this.columns = columns;
  }

  /**
   * Returns the keys of groups of rows, or null if one of them is no column of the relation.
   *
   * @param columns gets the columns of the files among the keys
   */
  static FileKeys of(List<? extends Expression> keys, RelationChain chain, FactColumns columns) {
    FileKeys found = new FileKeys(columns);
    for (Expression key : keys) {
      Attribute column = chain.column(key);
      if (column == null || !ExactColumns.contain(column)) {
        return null;
      }
      int partition = chain.partition(column);
      if (partition < 0) {
        columns.addNeed(columns.position(column), "group");
      }
      found.keys.add(column);
      found.partitions.add(Integer.valueOf(partition));
    }
    return found;
  }

  /** Returns the keys that all rows of a file have, or null if they can have several. */
  List<Object> values(FileFacts files, ColumnFacts[] facts, int position) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      Attribute key = (Attribute) keys.get(i);
      int partition = ((Integer) partitions.get(i)).intValue();
      if (partition >= 0) {
        InternalRow row = files.partition(position);
        values.add(row.isNullAt(partition) ? null : row.get(partition, key.dataType()));
      } else {
        ColumnFacts column = facts[columns.position(key)];
        int ordinal = files.ordinal(position);
        if (ordinal < 0 || !isConstant(column, ordinal)) {
          return null;
        }
        values.add(column.low(ordinal));
      }
    }
    return values;
  }

  /** Returns whether all rows of a file certainly have the same value or NULL in a column. */
  private static boolean isConstant(ColumnFacts column, int ordinal) {
    boolean isOneValue =
        column.isExact(ordinal)
            && column.nulls(ordinal) == 0
            && column.low(ordinal).equals(column.high(ordinal));
    return isOneValue || column.isEmpty(ordinal);
  }
}
