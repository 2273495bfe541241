package io.xskip.snapshot;

import io.xskip.catalyst.PackedValues;
import io.xskip.protocol.PackedIntegers;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.types.DataType;

/** What an answer says of a column in the files that are left [JVM-AN-4]. */
public final class ColumnFacts {
  private static final byte VALUE = 0;
  private static final byte NO_VALUE = 1;
  private static final byte NOTHING = 2;
  private static final byte LOOSE = 3;

  private final long[] nulls;
  private final PackedColumn low;
  private final PackedColumn high;

  /** For each file its distinct values in Catalyst's form; null where they are unknown. */
  private final Object[][] values;

  /**
   * Reads a column from the section of an answer.
   *
   * @param type the type of the column
   * @param count the number of files that are left
   */
  ColumnFacts(ByteBuffer section, DataType type, int count) {
    nulls = PackedIntegers.read(section, count);
    low = new PackedColumn(section, type, count);
    high = new PackedColumn(section, type, count);
    values = new Object[count][];
    readValues(section, type);
  }

  private void readValues(ByteBuffer section, DataType type) {
    long[] numbers = PackedIntegers.read(section, values.length);
    int total = 0;
    for (long number : numbers) {
      total += (int) Math.max(number, 0);
    }
    PackedColumn all = new PackedColumn(section, type, total);
    int next = 0;
    for (int i = 0; i < values.length; i++) {
      if (numbers[i] >= 0) {
        values[i] = Arrays.copyOfRange(all.values, next, next + (int) numbers[i]);
        next += (int) numbers[i];
      }
    }
  }

  /** Values with a state each, such as the least value of each file. */
  private static final class PackedColumn {
    private final byte[] states;
    private final Object[] values;

    PackedColumn(ByteBuffer section, DataType type, int count) {
      long[] known = PackedIntegers.read(section, count);
      long[] numbers = PackedIntegers.read(section, count);
      byte[] bytes = new byte[(int) section.getLong()];
      section.get(bytes);
      states = new byte[count];
      byte[] withoutValue = new byte[count];
      for (int i = 0; i < count; i++) {
        states[i] = (byte) known[i];
        withoutValue[i] = (byte) (states[i] == VALUE || states[i] == LOOSE ? 0 : 1);
      }
      PackedValues packed = new PackedValues(type, withoutValue, numbers, bytes);
      values = new Object[count];
      for (int i = 0; i < count; i++) {
        values[i] = packed.get(i);
      }
    }
  }

  /** Returns the number of NULLs of a file, or a negative number if it is unknown. */
  public long nulls(int position) {
    return nulls[position];
  }

  /** Returns whether a file has no value but NULL. */
  public boolean isEmpty(int position) {
    return low.states[position] == NO_VALUE;
  }

  /** Returns whether the least and the greatest value of a file are known: rows have them. */
  public boolean isExact(int position) {
    return low.states[position] == VALUE && high.states[position] == VALUE;
  }

  /** Returns whether no value of a file lies outside of known bounds. */
  public boolean isBounded(int position) {
    return low.states[position] != NOTHING && low.states[position] != NO_VALUE;
  }

  /** Returns the lower bound of a file in Catalyst's form, or null without bounds. */
  public Object low(int position) {
    return low.values[position];
  }

  /** Returns the upper bound of a file in Catalyst's form, or null without bounds. */
  public Object high(int position) {
    return high.values[position];
  }

  /** Returns all values of a file but NULL in Catalyst's form, or null if they are unknown. */
  public Object[] values(int position) {
    return values[position];
  }
}
