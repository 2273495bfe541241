package io.xskip.collect;

/**
 * The description of an accumulator, in the form of [JVM-AC-1]; the type can be {@code
 * array<type>}.
 */
final class AccumulatorFactory {
  private static final String ARRAY_PREFIX = "array<";

  private final String kind;
  private final int column;
  private final String type;
  private final int limit;
  private final double logRate;

  AccumulatorFactory(String text) {
    String[] parts = text.split(":");
    kind = parts[0];
    column = Integer.parseInt(parts[1]);
    type = parts[2];
    limit = Integer.parseInt(parts[3]);
    logRate = Double.parseDouble(parts[4]);
  }

  /** Returns the position of the column in the DataFrame. */
  int column() {
    return column;
  }

  /** Creates an accumulator of files. */
  Accumulator create() {
    return create(limit);
  }

  /**
   * Creates an accumulator of parts of files, whose Bloom filters have the size of their values.
   */
  Accumulator createForParts() {
    return create(kind.equals("hashes") || kind.equals("words") ? 0 : limit);
  }

  private Accumulator create(int limit) {
    if (kind.equals("boxes")) { // an array is a single point
      return new BoundingBoxes(limit);
    }
    if (type.startsWith(ARRAY_PREFIX)) {
      String elementType = type.substring(ARRAY_PREFIX.length(), type.length() - 1);
      return new ArrayElements(create(ValueType.parse(elementType), limit));
    }
    return create(ValueType.parse(type), limit);
  }

  private Accumulator create(ValueType valueType, int limit) {
    switch (kind) {
      case "counts":
        return new NullCounts();
      case "hashes":
        return new BloomHashes(valueType, limit, logRate);
      case "words":
        return new WordHashes(valueType, limit, logRate);
      case "ranges":
        return new ValueRanges(valueType, limit);
      case "values":
        return isNumeric(valueType)
            ? new NumberValues(valueType, limit)
            : new ObjectValues(valueType, limit);
      case "bounds":
        return bounds(valueType);
      default:
        throw new IllegalArgumentException("the kernel has no accumulator of kind " + kind);
    }
  }

  private static Accumulator bounds(ValueType valueType) {
    if (valueType.isIntegral()) {
      return new LongBounds(valueType);
    }
    return valueType.isFloatingPoint() ? new DoubleBounds(valueType) : new ObjectBounds(valueType);
  }

  private static boolean isNumeric(ValueType valueType) {
    return valueType.isIntegral() || valueType.isFloatingPoint();
  }
}
