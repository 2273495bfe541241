package io.xskip.scan;

import io.xskip.shims.Scala;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.IntegerType$;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The files of a scan with numbers, so that Spark can leave out files while the query runs: each
 * file is a partition of its own, with its number after the partition values.
 */
public final class NumberedListing {
  /** The name of the column with the number of a file. */
  public static final String NUMBER = "__xskip_file";

  private static final int NO_NUMBER = -1;

  private final RuntimeRequest request;

  /** The partition columns without the number. */
  private final StructType schema;

  private Seq<PartitionDirectory> listing = null;

  /** The numbers of the files, which no two listings share. */
  private final Map<FileStatusWithMetadata, Integer> numbers = new IdentityHashMap<>();

  private int next = 0;

  public NumberedListing(ScanContext context, StructType schema) {
    this.request = new RuntimeRequest(context, schema);
    this.schema = schema;
  }

  /** Returns the partition columns with the number. */
  public StructType numberedSchema() {
    return schema.add(NUMBER, IntegerType$.MODULE$, false);
  }

  /** Returns filters without those on the number of a file. */
  public static Seq<Expression> without(Seq<Expression> filters) {
    List<Expression> others = new ArrayList<>();
    for (Expression filter : Scala.list(filters)) {
      boolean isOnNumber = false;
      scala.collection.Iterator<Attribute> columns = filter.references().iterator();
      while (columns.hasNext()) {
        isOnNumber |= ((Attribute) columns.next()).name().equals(NUMBER);
      }
      if (!isOnNumber) {
        others.add(filter);
      }
    }
    return (Seq<Expression>) Scala.seq(others);
  }

  /** Returns a number that only files of later listings have or exceed. */
  public synchronized int next() {
    return next;
  }

  /** Returns a listing with a directory for each file. */
  public synchronized Seq<PartitionDirectory> number(Seq<PartitionDirectory> directories) {
    listing = directories;
    numbers.clear();
    List<PartitionDirectory> numbered = new ArrayList<>();
    for (PartitionDirectory directory : Scala.list(directories)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        List<FileStatusWithMetadata> single = new ArrayList<>();
        single.add(file);
        Seq<FileStatusWithMetadata> files = (Seq<FileStatusWithMetadata>) Scala.seq(single);
        numbered.add(new PartitionDirectory(values(directory.values(), next), files));
        numbers.put(file, Integer.valueOf(next));
        next++;
      }
    }
    return (Seq<PartitionDirectory>) Scala.seq(numbered);
  }

  /** Returns a listing whose files have no numbers, because nothing will test them. */
  public Seq<PartitionDirectory> withoutNumbers(Seq<PartitionDirectory> directories) {
    List<PartitionDirectory> extended = new ArrayList<>();
    for (PartitionDirectory directory : Scala.list(directories)) {
      extended.add(
          new PartitionDirectory(values(directory.values(), NO_NUMBER), directory.files()));
    }
    return (Seq<PartitionDirectory>) Scala.seq(extended);
  }

  private InternalRow values(InternalRow partition, int number) {
    int count = schema.fields().length;
    Object[] values = new Object[count + 1];
    for (int i = 0; i < count; i++) {
      values[i] = partition.isNullAt(i) ? null : partition.get(i, schema.fields()[i].dataType());
    }
    values[count] = Integer.valueOf(number);
    return new GenericInternalRow(values);
  }

  /**
   * Returns the numbers of the files of the latest listing that can have a matching row, or null if
   * all numbers have to be taken for such files.
   *
   * @param conditions the conditions on the rows, or null if no row matches
   * @param rewrite the name of the rewrite that knows them
   */
  public synchronized BitSet matching(List<Expression> conditions, String rewrite)
      throws Throwable {
    BitSet matching = new BitSet(next);
    matching.set(0, next - numbers.size()); // files of earlier listings
    if (conditions == null) {
      return matching;
    }
    Seq<PartitionDirectory> left =
        listing == null ? null : request.prune(listing, conditions, rewrite);
    if (left == null) {
      return null;
    }
    for (PartitionDirectory directory : Scala.list(left)) {
      for (FileStatusWithMetadata file : Scala.list(directory.files())) {
        matching.set(((Integer) numbers.get(file)).intValue());
      }
    }
    return matching;
  }
}
