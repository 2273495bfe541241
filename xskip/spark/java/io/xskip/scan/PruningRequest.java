package io.xskip.scan;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.common.Json;
import io.xskip.connection.CallbackExecutor;
import io.xskip.connection.HookState;
import io.xskip.location.IndexLocation;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.internal.SQLConf;
import scala.collection.immutable.Seq;

/** A request to Python: which files of an indexed dataset can a scan skip? */
public final class PruningRequest {
  /**
   * The greatest length of a command. py4j's writer has a buffer of 8 KB and no TCP_NODELAY: a
   * longer command would wait some 40 ms for a delayed ACK.
   */
  private static final int CHUNK_LENGTH = 3500;

  /** The evaluators of the requests that are being answered. */
  private static final Map<Long, ExpressionEvaluator> EVALUATORS = new ConcurrentHashMap<>();

  private final long id = ScanLog.nextId();
  private final IndexLocation location;
  private final ScanContext context;
  private final Seq<Expression> dataFilters;
  private final FactsQuestion question;
  private final String rewrite;
  private final ExpressionEvaluator evaluator;

  /**
   * Creates a request.
   *
   * @param question what the answer has to state of each file beside "skip", or null
   * @param rewrite the name of the rewrite that knows the filters as the query runs, or an empty
   *     text
   */
  PruningRequest(
      IndexLocation location,
      ScanContext context,
      Seq<Expression> dataFilters,
      FactsQuestion question,
      String rewrite) {
    this.question = question;
    this.rewrite = rewrite;
    this.location = location;
    this.context = context;
    this.dataFilters = dataFilters;
    this.evaluator = context.newEvaluator();
  }

  /** Returns the evaluator of a request that is being answered. */
  public static ExpressionEvaluator evaluatorOf(long id) {
    return (ExpressionEvaluator) EVALUATORS.get(Long.valueOf(id));
  }

  long id() {
    return id;
  }

  /** Sends the request and returns the answer, or null if Python has none. */
  byte[] send() throws Throwable {
    EVALUATORS.put(Long.valueOf(id), evaluator);
    try {
      return CallbackExecutor.call(HookState.callback(), chunks(text()));
    } finally {
      EVALUATORS.remove(Long.valueOf(id));
    }
  }

  private String text() throws Exception {
    StringWriter text = new StringWriter(512);
    JsonGenerator json = Json.generator(text);
    json.writeStartObject();
    json.writeNumberField("id", id);
    json.writeBooleanField("strict", context.settings().strict);
    json.writeBooleanField("explains", Explanation.current() != null);
    json.writeStringField("jobFiles", context.settings().jobFiles);
    json.writeFieldName("location");
    location.writeTo(json);
    context.profile().writeFields(json, context.conf(), SQLConf.get());
    json.writeArrayFieldStart("filters");
    scala.collection.Iterator<Expression> filters = dataFilters.iterator();
    while (filters.hasNext()) {
      ExpressionEncoder.write(json, (Expression) filters.next(), evaluator);
    }
    for (String condition : context.conditions()) {
      json.writeRawValue(condition);
    }
    json.writeEndArray();
    if (question != null) {
      json.writeObjectFieldStart("facts");
      writeExpressions(json, "whole", question.conditions());
      writeExpressions(json, "columns", question.columns());
      writeExpressions(json, "predicates", question.predicates());
      json.writeArrayFieldStart("needs");
      for (String need : question.needs()) {
        json.writeString(need);
      }
      json.writeEndArray();
      json.writeNumberField("rows", question.rows());
      json.writeBooleanField("parts", question.takesParts());
      json.writeEndObject();
    }
    // files that a rewrite leaves while the query runs are looked up by their identity
    json.writeBooleanField("ranges", rewrite.isEmpty() && context.takesRanges());
    if (!rewrite.isEmpty()) {
      json.writeStringField("rewrite", rewrite);
    }
    json.writeEndObject();
    json.close();
    return text.toString();
  }

  private void writeExpressions(JsonGenerator json, String name, List<Expression> expressions)
      throws Exception {
    json.writeArrayFieldStart(name);
    for (Expression expression : expressions) {
      ExpressionEncoder.writeCondition(json, expression, evaluator);
    }
    json.writeEndArray();
  }

  /**
   * Splits a long request into chunks: U+0001, the id, a colon, 1 for the last chunk and 0 for the
   * others, a colon, and a part of the request.
   */
  private String[] chunks(String request) {
    int length = request.length();
    if (length <= CHUNK_LENGTH) {
      return new String[] {request};
    }
    String[] chunks = new String[(length + CHUNK_LENGTH - 1) / CHUNK_LENGTH];
    for (int i = 0; i < chunks.length; i++) {
      int start = i * CHUNK_LENGTH;
      int end = Math.min(length, start + CHUNK_LENGTH);
      String isLast = end == length ? "1" : "0";
      chunks[i] = "\u0001" + id + ":" + isLast + ":" + request.substring(start, end);
    }
    return chunks;
  }
}
