package io.xskip.snapshot;

import io.xskip.catalyst.PackedValues;
import java.nio.ByteBuffer;
import org.apache.spark.sql.types.DataType;

/** What an answer says of a column in the files of a snapshot [JVM-AN-4]. */
public final class ColumnFacts {
  private static final byte VALUE = 0;
  private static final byte NO_VALUE = 1;
  private static final byte NOTHING = 2;
  private static final byte LOOSE = 3;

  private final long[] nulls;
  private final Bounds low;
  private final Bounds high;

  /**
   * Reads a column from the section of an answer.
   *
   * @param type the type of the column
   * @param count the number of files of the snapshot
   */
  ColumnFacts(ByteBuffer section, DataType type, int count) {
    nulls = longs(section, count);
    low = new Bounds(section, type, count);
    high = new Bounds(section, type, count);
  }

  private static long[] longs(ByteBuffer section, int count) {
    long[] numbers = new long[count];
    for (int i = 0; i < count; i++) {
      numbers[i] = section.getLong();
    }
    return numbers;
  }

  /** The least or the greatest value of each file. */
  private static final class Bounds {
    private final byte[] states;
    private final Object[] values;

    Bounds(ByteBuffer section, DataType type, int count) {
      states = new byte[count];
      section.get(states);
      long[] numbers = longs(section, count);
      byte[] bytes = new byte[(int) section.getLong()];
      section.get(bytes);
      byte[] withoutValue = new byte[count];
      for (int i = 0; i < count; i++) {
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
  public long nulls(int ordinal) {
    return nulls[ordinal];
  }

  /** Returns whether a file has no value but NULL. */
  public boolean isEmpty(int ordinal) {
    return low.states[ordinal] == NO_VALUE;
  }

  /** Returns whether the least and the greatest value of a file are known: rows have them. */
  public boolean isExact(int ordinal) {
    return low.states[ordinal] == VALUE && high.states[ordinal] == VALUE;
  }

  /** Returns whether no value of a file lies outside of known bounds. */
  public boolean isBounded(int ordinal) {
    return low.states[ordinal] != NOTHING && low.states[ordinal] != NO_VALUE;
  }

  /** Returns the lower bound of a file in Catalyst's form, or null without bounds. */
  public Object low(int ordinal) {
    return low.values[ordinal];
  }

  /** Returns the upper bound of a file in Catalyst's form, or null without bounds. */
  public Object high(int ordinal) {
    return high.values[ordinal];
  }
}
