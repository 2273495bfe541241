package io.xskip.observe;

import com.fasterxml.jackson.core.JsonGenerator;
import io.xskip.catalyst.ExpressionEncoder;
import io.xskip.catalyst.ExpressionEvaluator;
import io.xskip.common.Failures;
import io.xskip.common.Json;
import io.xskip.shims.Scala;
import java.io.StringWriter;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.internal.SQLConf;
import scala.collection.immutable.Seq;

/** The text of the filters of a scan, which ends in an error where it is too long for a record. */
final class FilterText extends StringWriter {
  private static final int MAX_LENGTH = 1 << 15;

  private FilterText() {}

  /** Returns filters as a JSON array in the form of [JVM-RQ-3], or an empty text if too long. */
  static String of(Seq<Expression> filters, SQLConf conf) {
    FilterText text = new FilterText();
    try {
      JsonGenerator json = Json.generator(text);
      json.writeStartArray();
      for (Expression filter : Scala.list(filters)) {
        ExpressionEncoder.write(json, filter, new ExpressionEvaluator(conf));
      }
      json.writeEndArray();
      json.close();
      return text.toString();
    } catch (Throwable t) { // only advice needs the text
      Failures.logDebug("the filters of a scan without an index", t);
      return "";
    }
  }

  @Override
  public void write(char[] text, int offset, int length) {
    check(length);
    super.write(text, offset, length);
  }

  @Override
  public void write(String text, int offset, int length) {
    check(length);
    super.write(text, offset, length);
  }

  private void check(int length) {
    if (getBuffer().length() + length > MAX_LENGTH) {
      throw new IllegalStateException("the filters have more than " + MAX_LENGTH + " characters");
    }
  }
}
