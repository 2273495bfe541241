package io.xskip.catalyst;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.xskip.common.Json;
import io.xskip.shims.Scala;
import io.xskip.shims.SparkCompat;
import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import scala.None$;
import scala.Product;
import scala.Some;
import scala.collection.immutable.Seq;

/** Writes Catalyst expressions as compact JSON for Python, in the form of [JVM-RQ-3]. */
public final class ExpressionEncoder {
  private static final int MAX_ARGUMENT_DEPTH = 3; // of collections and records

  private final JsonGenerator json;
  private final ExpressionEvaluator evaluator;

  /** Whether the text states which expressions have a value for each value of their column. */
  private final boolean statesNulls;

  private ExpressionEncoder(
      JsonGenerator json, ExpressionEvaluator evaluator, boolean statesNulls) {
    this.json = json;
    this.evaluator = evaluator;
    this.statesNulls = statesNulls;
  }

  public static void write(JsonGenerator json, Expression expression, ExpressionEvaluator evaluator)
      throws IOException {
    new ExpressionEncoder(json, evaluator, false).writeExpression(expression);
  }

  /** Writes a condition for Python to find the files that match it wholly. */
  public static void writeCondition(
      JsonGenerator json, Expression condition, ExpressionEvaluator evaluator) throws IOException {
    new ExpressionEncoder(json, evaluator, true).writeExpression(condition);
  }

  /** Returns the text of an expression, and adds to {@code evaluator} what Python may evaluate. */
  public static String encode(final Expression expression, final ExpressionEvaluator evaluator) {
    return Json.text(
        new Json.Value() {
          @Override
          public void writeTo(JsonGenerator json) throws IOException {
            write(json, expression, evaluator);
          }
        });
  }

  /**
   * Returns the one expression that a DataFrame selects, optimized as scans have it, as text; null
   * for all other plans.
   */
  public static String selected(Object df) throws Exception {
    QueryExecution execution = SparkCompat.execution(df);
    Expression expression = selectedBy(execution);
    SQLConf conf = SparkCompat.conf(execution.sparkSession());
    return expression == null ? null : encode(expression, new ExpressionEvaluator(conf));
  }

  /**
   * Returns the columns of {@link DayDependence#columns} of the one expression that a DataFrame
   * selects, as JSON or null.
   */
  public static String timestampTexts(Object df) throws Exception {
    Expression expression = selectedBy(SparkCompat.execution(df));
    String[][] columns = expression == null ? null : DayDependence.of(expression).columns();
    return columns == null ? null : new ObjectMapper().writeValueAsString(columns);
  }

  private static Expression selectedBy(QueryExecution execution) {
    LogicalPlan plan = execution.optimizedPlan();
    if (!(plan instanceof Project) || plan.expressions().length() != 1) {
      return null;
    }
    Expression expression = (Expression) plan.expressions().head();
    return expression instanceof Alias ? ((Alias) expression).child() : expression;
  }

  private void writeExpressions(Seq<Expression> expressions) throws IOException {
    json.writeStartArray();
    for (Expression expression : Scala.list(expressions)) {
      writeExpression(expression);
    }
    json.writeEndArray();
  }

  private void writeExpression(Expression expression) throws IOException {
    RowComparison comparison = RowComparison.of(expression);
    if (comparison != null) {
      writeRowComparison(comparison, expression);
    } else if (expression instanceof Literal) {
      writeLiteral((Literal) expression);
    } else if (ColumnBinding.isColumn(expression)) {
      writeColumn(expression);
    } else if (expression instanceof InSet) {
      InSet in = (InSet) expression;
      writeMembership(in, in.child(), Scala.list(in.hset()));
    } else if (expression instanceof In && hasLiterals((In) expression)) {
      In in = (In) expression;
      writeMembership(in, in.value(), Scala.list(in.list()));
    } else {
      String identity = UdfIdentity.identity(expression);
      if (identity == null) {
        writeConstructor(expression);
      } else {
        writeCall(expression, identity);
      }
    }
  }

  private void writeLiteral(Literal literal) throws IOException {
    json.writeStartArray();
    json.writeString("#");
    json.writeString(literal.dataType().catalogString());
    ValueEncoder.write(json, literal.value());
    json.writeEndArray();
  }

  private void writeColumn(Expression column) throws IOException {
    json.writeStartArray();
    json.writeString(isHidden((AttributeReference) ColumnBinding.root(column)) ? "$meta" : "$");
    json.writeStartArray();
    for (String name : ColumnBinding.path(column)) {
      json.writeString(name);
    }
    json.writeEndArray();
    json.writeString(column.dataType().catalogString());
    json.writeEndArray();
  }

  private static boolean isHidden(AttributeReference attribute) {
    // FileSourceStrategy rewrites _metadata.file_size to an attribute file_size, a name that a data
    // column may have as well: only the metadata of the attribute distinguishes the two.
    Metadata metadata = attribute.metadata();
    return metadata.contains("__metadata_col") || metadata.contains("__file_source_metadata_col");
  }

  private static boolean hasLiterals(In in) {
    DataType type = in.value().dataType();
    for (Object value : Scala.list(in.list())) {
      if (!(value instanceof Literal) || !((Literal) value).dataType().equals(type)) {
        return false;
      }
    }
    return true;
  }

  private void writeMembership(Expression expression, Expression child, List<?> values)
      throws IOException {
    json.writeStartArray();
    json.writeString("In");
    writeExpression(child);
    json.writeString(child.dataType().catalogString());
    json.writeStartArray();
    for (Object value : values) { // literals, or the values of literals
      ValueEncoder.write(json, value instanceof Literal ? ((Literal) value).value() : value);
    }
    json.writeEndArray();
    writeNumber(expression);
    json.writeEndArray();
  }

  private void writeRowComparison(RowComparison comparison, Expression expression)
      throws IOException {
    json.writeStartArray();
    json.writeString(comparison.kind);
    writeField(comparison.row);
    json.writeStartArray();
    for (InternalRow literal : comparison.literals) {
      writeFieldLiteral(literal, comparison.row.dataType());
    }
    json.writeEndArray();
    writeNumber(expression);
    json.writeEndArray();
  }

  private void writeField(Expression field) throws IOException {
    if (!RowComparison.hasFields(field)) {
      writeExpression(field);
      return;
    }
    json.writeStartArray();
    json.writeString("Row");
    if (ColumnBinding.isColumn(field)) {
      writeColumn(field);
    } else {
      json.writeNull();
    }
    json.writeStartArray();
    for (Expression part : RowComparison.fields(field)) {
      writeField(part);
    }
    json.writeEndArray();
    json.writeEndArray();
  }

  private void writeFieldLiteral(Object value, DataType type) throws IOException {
    if (!(type instanceof StructType)) {
      writeLiteral(new Literal(value, type));
    } else if (value == null) {
      json.writeNull();
    } else {
      InternalRow row = (InternalRow) value;
      StructType struct = (StructType) type;
      json.writeStartArray();
      for (int i = 0; i < struct.length(); i++) {
        DataType fieldType = struct.apply(i).dataType();
        writeFieldLiteral(row.isNullAt(i) ? null : row.get(i, fieldType), fieldType);
      }
      json.writeEndArray();
    }
  }

  private void writeCall(Expression call, String identity) throws IOException {
    json.writeStartArray();
    json.writeString("UDF");
    json.writeString(identity);
    json.writeString(UdfIdentity.name(call));
    json.writeString(call.dataType().catalogString());
    writeExpressions(call.children());
    json.writeEndArray();
  }

  private void writeConstructor(Expression expression) throws IOException {
    String className = expression.getClass().getName();
    Product product = (Product) expression;
    json.writeStartArray();
    json.writeString(className.substring(className.lastIndexOf('.') + 1));
    for (int i = 0; i < product.productArity(); i++) {
      writeArgument(product.productElement(i), 0);
    }
    writeNumber(expression);
    json.writeEndArray();
  }

  private void writeNumber(Expression expression) throws IOException {
    int number = evaluator.number(expression);
    if (number == ExpressionEvaluator.NOT_EVALUABLE) {
      return;
    }
    json.writeStartObject();
    json.writeNumberField("@", number);
    json.writeStringField("t", expression.dataType().catalogString());
    if (statesNulls && number >= 0 && isNullOnlyOfNull(expression)) {
      json.writeBooleanField("v", true);
    }
    json.writeEndObject();
  }

  /** Returns whether an expression of one column is NULL for no value of the column but NULL. */
  private static boolean isNullOnlyOfNull(Expression expression) {
    Expression ofValues =
        (Expression)
            expression.transformUp(
                new NodeRewriter<Expression>() {
                  @Override
                  protected boolean matches(Object node) {
                    return node instanceof AttributeReference;
                  }

                  @Override
                  protected Object rewrite(Object node) {
                    return ((AttributeReference) node).withNullability(false);
                  }
                });
    return !ofValues.nullable();
  }

  private void writeArgument(Object argument, int depth) throws IOException {
    if (argument instanceof Expression) {
      writeExpression((Expression) argument);
    } else if (argument == null || argument == None$.MODULE$) {
      json.writeNull();
    } else if (argument instanceof Some) {
      writeArgument(((Some<?>) argument).get(), depth);
    } else if (argument instanceof Boolean) {
      json.writeBoolean(((Boolean) argument).booleanValue());
    } else if (isInteger(argument)) {
      json.writeNumber(((Number) argument).longValue());
    } else if (isWord(argument)) {
      json.writeString(argument.toString());
    } else if (argument instanceof Class) {
      json.writeString(((Class<?>) argument).getName());
    } else if (argument instanceof DataType && TypeNames.areClear((DataType) argument)) {
      writeTagged("t", ((DataType) argument).catalogString());
    } else if (isEmptyMap(argument)) { // such as the options of a decoder
      json.writeStartObject();
      json.writeEndObject();
    } else if (depth < MAX_ARGUMENT_DEPTH && isCollection(argument)) {
      writeElements((scala.collection.Iterable<?>) argument, depth);
    } else if (depth < MAX_ARGUMENT_DEPTH && isRecord(argument)) {
      writeRecord((Product) argument, depth);
    } else {
      writeTagged("?", argument.getClass().getName());
    }
  }

  private static boolean isInteger(Object argument) {
    return argument instanceof Integer
        || argument instanceof Long
        || argument instanceof Short
        || argument instanceof Byte;
  }

  private static boolean isWord(Object argument) {
    return argument instanceof String
        || argument instanceof Character
        || argument instanceof Enum
        || argument.getClass().getName().contains("Enumeration$Val"); // of Scala
  }

  private static boolean isCollection(Object argument) {
    return argument instanceof scala.collection.Iterable
        && !(argument instanceof scala.collection.Map);
  }

  private static boolean isEmptyMap(Object argument) {
    return argument instanceof scala.collection.Map
        && ((scala.collection.Map<?, ?>) argument).isEmpty();
  }

  private static boolean isRecord(Object argument) {
    // a case class: a Tuple2 of CaseWhen or a NumericEvalContext
    return argument instanceof Product && !(argument instanceof TreeNode);
  }

  private void writeElements(scala.collection.Iterable<?> elements, int depth) throws IOException {
    json.writeStartArray();
    for (Object element : Scala.list(elements)) {
      writeArgument(element, depth + 1);
    }
    json.writeEndArray();
  }

  private void writeRecord(Product product, int depth) throws IOException {
    json.writeStartArray();
    json.writeString(product.productPrefix());
    for (int i = 0; i < product.productArity(); i++) {
      writeArgument(product.productElement(i), depth + 1);
    }
    json.writeEndArray();
  }

  private void writeTagged(String tag, String text) throws IOException {
    json.writeStartObject();
    json.writeStringField(tag, text);
    json.writeEndObject();
  }
}
