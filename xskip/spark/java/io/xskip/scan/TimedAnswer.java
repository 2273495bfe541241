package io.xskip.scan;

import io.xskip.location.IndexLocation;
import io.xskip.protocol.Answer;
import io.xskip.snapshot.FileSnapshot;
import io.xskip.snapshot.PruningAnswer;
import io.xskip.snapshot.Snapshots;
import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.collection.immutable.Seq;

/** The answer of an index to a scan, and how long it took. */
final class TimedAnswer {
  private final IndexLocation location;
  private final ScanContext context;
  private final PruningRequest request;
  private final boolean isPresent;
  private final Answer parsed;
  private final long sent;
  private final long received;

  /**
   * Asks an index.
   *
   * @param question what the answer has to state of each file beside "skip", or null
   * @param rewrite the name of the rewrite that knows the filters as the query runs, or an empty
   *     text
   */
  TimedAnswer(
      IndexLocation location,
      ScanContext context,
      Seq<Expression> filters,
      FactsQuestion question,
      String rewrite)
      throws Throwable {
    this.location = location;
    this.context = context;
    sent = System.nanoTime();
    request = new PruningRequest(location, context, filters, question, rewrite);
    byte[] bytes = request.send();
    received = System.nanoTime();
    isPresent = bytes != null;
    parsed = Answer.parse(bytes);
  }

  /** Returns whether an index has answered. */
  boolean isPresent() {
    return isPresent;
  }

  /** Returns why a query in strict mode fails, or null. */
  String refusal() {
    return parsed.refusal();
  }

  /** Returns the answer about the files that the index knows. */
  PruningAnswer pruning() {
    FileSnapshot snapshot = (FileSnapshot) Snapshots.snapshots.get(location.directory());
    // to open a file costs Spark as much as to read these bytes
    long leastGap = context.conf().filesOpenCostInBytes();
    return PruningAnswer.of(parsed, snapshot, location.names(), leastGap);
  }

  /**
   * Returns the record of the scan, once the answer is applied.
   *
   * @param isEvaluated whether the scan reads no files, because the session only counts them
   */
  ScanRecord record(PruningAnswer answer, boolean isEvaluated) {
    return new ScanRecord(
        request.id(),
        location.root(),
        context.profile().format(),
        context.sessionId(),
        answer,
        isEvaluated,
        received - sent,
        System.nanoTime() - received);
  }
}
