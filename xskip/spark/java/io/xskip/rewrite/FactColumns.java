package io.xskip.rewrite;

import io.xskip.snapshot.ColumnFacts;
import io.xskip.snapshot.FileFacts;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;

/** The columns of files of which a rewrite needs the bounds and the numbers of NULLs. */
final class FactColumns {
  private final List<Expression> columns = new ArrayList<>();

  /** For each column what the rewrite does with it, with commas between. */
  private final List<String> needs = new ArrayList<>();

  /** Returns the position of a column in {@link #facts}, and adds the column if it is new. */
  int position(Attribute column) {
    for (int i = 0; i < columns.size(); i++) {
      if (((Attribute) columns.get(i)).exprId().equals(column.exprId())) {
        return i;
      }
    }
    columns.add(column);
    needs.add("");
    return columns.size() - 1;
  }

  /** Notes what the rewrite does with a column, see [JVM-RQ-6]. */
  void addNeed(int position, String need) {
    String known = (String) needs.get(position);
    if (!Arrays.asList(known.split(",")).contains(need)) {
      needs.set(position, known.isEmpty() ? need : known + "," + need);
    }
  }

  List<Expression> all() {
    return columns;
  }

  /** Returns what the rewrite does with each column. */
  List<String> needs() {
    return needs;
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
