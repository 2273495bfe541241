package io.xskip.quixlake;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of segments: {@code ts_<start>_<end>_part_<partition>_off_<first>_<last>.avro}. */
final class SegmentNames {
  private static final String PLACE = "(-?[0-9]{1,18})"; // eighteen digits always fit into 64 bits

  // xskip.quixlake.names in Python has the same pattern
  private static final Pattern NAME =
      Pattern.compile(
          "ts_"
              + PLACE
              + "_"
              + PLACE
              + "_part_"
              + PLACE
              + "_off_"
              + PLACE
              + "_"
              + PLACE
              + "\\.avro(?:\\..*)?",
          Pattern.DOTALL);

  private static final int PARTITION = 3;

  private SegmentNames() {}

  /** Returns the Kafka partition that the name of a segment claims, or null. */
  static Long partition(String name) {
    Matcher matcher = NAME.matcher(name);
    return matcher.matches() ? Long.valueOf(matcher.group(PARTITION)) : null;
  }
}
