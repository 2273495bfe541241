package io.xskip.scan;

import io.xskip.connection.CallbackExecutor;
import io.xskip.location.IndexLocation;
import io.xskip.shims.Scala;
import io.xskip.snapshot.PruningAnswer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** Asks the indexes of a scan about conditions that are known only while the query runs. */
final class RuntimeRequest {
  private final ScanContext context;
  private final StructType partitionSchema;

  RuntimeRequest(ScanContext context, StructType partitionSchema) {
    this.context = context;
    this.partitionSchema = partitionSchema;
  }

  /**
   * Returns the files that can have a row that satisfies all conditions, or null if no index can be
   * asked.
   *
   * @param rewrite the name of the rewrite that knows the conditions
   */
  Seq<PartitionDirectory> prune(
      Seq<PartitionDirectory> listing, List<Expression> conditions, String rewrite)
      throws Throwable {
    if (CallbackExecutor.isInCallback()) {
      return null;
    }
    Seq<PartitionDirectory> left = listing;
    Seq<Expression> filters = (Seq<Expression>) Scala.seq(conditions);
    List<ScanRecord> records = new ArrayList<>();
    for (IndexLocation location : context.locations()) {
      TimedAnswer response = new TimedAnswer(location, context, filters, null, rewrite);
      PruningAnswer answer = response.pruning();
      left = answer.filter(left, partitionSchema);
      records.add(response.record(answer, false));
    }
    publish(records);
    return left;
  }

  /**
   * Makes the records of a scan known, unless an index was asked when the scan listed its files.
   */
  private void publish(List<ScanRecord> records) {
    ScanLog.addUsed(records);
    List<ScanRecord> latest = context.latest();
    boolean isFirst = latest == null || latest.isEmpty();
    if (isFirst) {
      context.setLatest(records);
    }
    for (ScanRecord record : records) {
      if (isFirst) {
        ScanLog.add(record);
      } else {
        context.addQuestion(record);
      }
    }
  }
}
