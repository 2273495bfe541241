package io.xskip.write;

import io.xskip.shims.Scala;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.datasources.BasicWriteTaskStats;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/**
 * The results of the files of a task, as one row of a mark and bytes among the partition values in
 * Spark's statistics: a class that each serializer of Spark knows.
 */
final class TaskResults {
  /** The first value of the row. */
  private static final UTF8String MARK = UTF8String.fromString("io.xskip.write.TaskResults");

  /** The bytes of a row before its first text: the bits of NULLs, and two fields. */
  private static final int FIXED = 3 * Long.BYTES;

  private TaskResults() {}

  /** Returns statistics with results, or without them if they exceed a part of Spark's limits. */
  static BasicWriteTaskStats add(
      List<Object[]> results, ResultLimits limits, BasicWriteTaskStats stats) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ObjectOutputStream objects = new ObjectOutputStream(bytes);
    objects.writeObject(results.toArray(new Object[0]));
    objects.close();
    if (bytes.size() > limits.bytesOfTask()) {
      return stats;
    }
    UnsafeRowWriter writer = new UnsafeRowWriter(2, bytes.size() + 128);
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, MARK);
    writer.write(1, bytes.toByteArray());
    List<InternalRow> rows = Scala.list(stats.partitions());
    rows.add(writer.getRow());
    return copy(stats, rows);
  }

  /**
   * Moves the results in the statistics of a task to a list, and returns Spark's own. Results that
   * do not count the rows that Spark counts are left out: another engine can write rows that Spark
   * does not see.
   */
  static BasicWriteTaskStats remove(BasicWriteTaskStats stats, List<Object[]> results)
      throws IOException, ClassNotFoundException {
    List<InternalRow> rows = Scala.list(stats.partitions());
    InternalRow last = rows.isEmpty() ? null : (InternalRow) rows.get(rows.size() - 1);
    if (!isResult(last)) {
      return stats;
    }
    ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(last.getBinary(1)));
    Object[] found = (Object[]) objects.readObject();
    long counted = 0;
    for (Object result : found) {
      counted += ((Long) ((Object[]) result)[1]).longValue();
    }
    if (counted == stats.numRows()) {
      for (Object result : found) {
        results.add((Object[]) result);
      }
    }
    rows.remove(rows.size() - 1);
    return copy(stats, rows);
  }

  private static boolean isResult(InternalRow row) {
    if (!(row instanceof UnsafeRow) || row.numFields() != 2 || row.isNullAt(0) || row.isNullAt(1)) {
      return false;
    }
    // a partition value of another type is no pointer to a text
    long pointer = row.getLong(0);
    boolean isPointer =
        pointer >>> Integer.SIZE == FIXED
            && (int) pointer == MARK.numBytes()
            && ((UnsafeRow) row).getSizeInBytes() > FIXED + MARK.numBytes();
    return isPointer && MARK.equals(row.getUTF8String(0));
  }

  private static BasicWriteTaskStats copy(BasicWriteTaskStats stats, List<InternalRow> partitions) {
    Seq<InternalRow> rows = (Seq<InternalRow>) Scala.seq(partitions);
    return new BasicWriteTaskStats(rows, stats.numFiles(), stats.numBytes(), stats.numRows());
  }
}
