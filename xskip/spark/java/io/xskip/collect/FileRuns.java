package io.xskip.collect;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * The results of accumulators for each run of rows of the same file, from rows or from batches of a
 * single file each; before them those of the parts of the file, if they are wanted.
 */
final class FileRuns implements Iterator<InternalRow> {
  /** The description that asks for the results of parts, after those of the accumulators. */
  static final String PARTS = "parts";

  /** The start of a part in a result that is about the run, and in rows of files without parts. */
  static final long NO_PART = -1;

  private final Iterator<?> pieces;
  private final int ordinalColumn;
  private final int partColumn; // with the start of the part in the file, or -1
  private final Set<Integer> splitFiles;
  private final AccumulatorClock clock; // null if the times are not wanted
  private final boolean isCounted; // whether the counts are wanted
  private final int width; // the number of result columns
  private final RunStatistics file;
  private final RunStatistics part; // null if parts are not wanted

  /** The results of the latest run that are yet to be returned. */
  private final Deque<InternalRow> results = new ArrayDeque<>();

  // The first row or batch of the next run, or null if it is yet to be read. A scan reuses the
  // memory of a piece for the next one, so the accumulators receive each before the next is
  // requested.
  private Object piece = null;

  /** Creates the iterator; see {@link KernelFunction} for the parameters. */
  FileRuns(Iterator<?> pieces, String[] specs, int[] positions, Set<Integer> splitFiles) {
    this.pieces = pieces;
    this.splitFiles = splitFiles;
    ordinalColumn = positions[0];
    int count = specs.length;
    boolean isTimed = specs[count - 1].equals(AccumulatorClock.SPEC);
    count -= isTimed ? 1 : 0;
    isCounted = count > 0 && specs[count - 1].equals(RowCounts.SPEC);
    count -= isCounted ? 1 : 0;
    boolean hasParts = count > 0 && specs[count - 1].equals(PARTS);
    count -= hasParts ? 1 : 0;
    partColumn = hasParts ? positions[positions.length - 1] : -1;
    clock = isTimed ? new AccumulatorClock(count) : null;
    file = RunStatistics.of(specs, count, positions, false, clock);
    part = hasParts ? RunStatistics.of(specs, count, positions, true, clock) : null;
    width = 1 + (hasParts ? 1 : 0) + file.width() + (isCounted ? 1 : 0) + (isTimed ? 1 : 0);
  }

  @Override
  public boolean hasNext() {
    return !results.isEmpty() || hasPiece();
  }

  private boolean hasPiece() {
    while (piece == null && pieces.hasNext()) {
      piece = pieces.next();
      if (piece instanceof ColumnarBatch && ((ColumnarBatch) piece).numRows() == 0) {
        piece = null;
      }
    }
    return piece != null;
  }

  @Override
  public InternalRow next() {
    if (results.isEmpty()) {
      if (!hasPiece()) {
        throw new NoSuchElementException();
      }
      readRun();
    }
    return (InternalRow) results.remove();
  }

  private void readRun() {
    int ordinal = ordinal();
    file.reset();
    if (clock != null) {
      clock.reset();
    }
    do {
      long start = part == null ? NO_PART : start();
      if (start == NO_PART) {
        file.add(takePiece());
      } else {
        readPart(ordinal, start);
      }
    } while (hasPiece() && ordinal() == ordinal);
    boolean isWhole = splitFiles != null && !splitFiles.contains(Integer.valueOf(ordinal));
    results.add(result(file, ordinal, NO_PART, isWhole));
  }

  private void readPart(int ordinal, long start) {
    part.reset();
    do {
      part.add(takePiece());
    } while (hasPiece() && ordinal() == ordinal && start() == start);
    file.merge(part);
    results.add(result(part, ordinal, start, true));
  }

  private Object takePiece() {
    Object taken = piece;
    piece = null;
    return taken;
  }

  private int ordinal() {
    return piece instanceof ColumnarBatch
        ? ((ColumnarBatch) piece).column(ordinalColumn).getInt(0)
        : ((InternalRow) piece).getInt(ordinalColumn);
  }

  private long start() {
    return piece instanceof ColumnarBatch
        ? ((ColumnarBatch) piece).column(partColumn).getLong(0)
        : ((InternalRow) piece).getLong(partColumn);
  }

  private InternalRow result(RunStatistics found, int ordinal, long start, boolean isWhole) {
    Object[] values = new Object[width];
    int position = 0;
    values[position++] = Integer.valueOf(ordinal);
    if (part != null) {
      values[position++] = Long.valueOf(start);
    }
    position = found.emit(values, position, isWhole);
    if (isCounted) {
      values[position++] = found.counts();
    }
    if (clock != null) {
      values[position] = clock.nanos();
    }
    return new GenericInternalRow(values);
  }
}
