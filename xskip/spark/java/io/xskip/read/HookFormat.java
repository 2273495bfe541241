package io.xskip.read;

/**
 * Marks a file format of the hook, which gives the same rows in each relation, and whose times have
 * no time zone and no calendar but those of Spark.
 */
public interface HookFormat {
  /** Returns whether a task can read the Avro blocks of a range of a file. */
  boolean hasRanges();
}
