package io.xskip.rule;

import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;

/** The columns of files of which a rewrite needs the bounds and the numbers of NULLs. */
final class FactColumns {
  private final List<Expression> columns = new ArrayList<>();

  /** Returns the position of a column in {@link #facts}, and adds the column if it is new. */
  int position(Attribute column) {
    for (int i = 0; i < columns.size(); i++) {
      if (((Attribute) columns.get(i)).exprId().equals(column.exprId())) {
        return i;
      }
    }
    columns.add(column);
    return columns.size() - 1;
  }

  List<Expression> all() {
    return columns;
  }

  /** Returns the facts of the columns, from an answer to a question about {@link #all}. */
  ColumnFacts[] facts(FileFacts files) {
    DataType[] types = new DataType[columns.size()];
    for (int i = 0; i < types.length; i++) {
      types[i] = ((Expression) columns.get(i)).dataType();
    }
    return files.columns(types);
  }
}
