package io.xskip.questdb;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReadStore;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.AbstractIterator;

/** The rows of a Parquet piece, as an iterator over batches. Rules: [QDB-PQ]. */
final class ParquetRows extends AbstractIterator<Object> implements TaskCompletionListener {
  private static final int MAX_ROWS = 1 << 13;
  private static final long MAX_BYTES = 32L << 20; // of a batch, by the mean size of rows

  private final Piece piece;
  private final PartitionColumns partition;
  private final TimeRange range;
  private final GroupFilter groups;
  private final Sidecar sidecar;
  private final SnapshotCheck check;
  private final TableFile file;
  private final ParquetFileReader reader;
  private final MessageType schema;
  private final List<ParquetColumn> columns = new ArrayList<>();
  private int group = 0;
  private long left = 0;
  private int batchRows = MAX_ROWS;

  private ParquetRows(
      Piece piece,
      StructType required,
      PartitionColumns partition,
      ScanFilters filters,
      TableFile file)
      throws IOException {
    this.piece = piece;
    this.partition = partition;
    this.range = filters.range.in(piece.snapshot);
    this.groups = filters.groups;
    this.sidecar = Sidecar.of(piece);
    this.file = file;
    check = new SnapshotCheck(piece);
    CutFile cut = new CutFile(file, piece.parquetSize);
    reader = ParquetFileReader.open(cut, ParquetReadOptions.builder().build());
    schema = reader.getFileMetaData().getSchema();
    demandRows();
    for (int i = 0; i < required.length(); i++) {
      TableColumn now = piece.snapshot.column(required.apply(i).name());
      columns.add(ParquetColumn.of(now, required.apply(i).dataType(), schema, file.path()));
    }
  }

  static ParquetRows open(
      Piece piece, StructType required, PartitionColumns partition, ScanFilters filters) {
    TableFile file = new TableFile(piece, piece.folder);
    try {
      return new ParquetRows(piece, required, partition, filters, file);
    } catch (Exception e) {
      file.close();
      throw TableFailure.unreadable(file.path(), e);
    }
  }

  private void demandRows() {
    long rows = 0;
    for (BlockMetaData each : reader.getRowGroups()) {
      rows += each.getRowCount();
    }
    if (sidecar != null && !sidecar.hasRowsOf(reader.getRowGroups())) {
      throw TableFailure.damaged(file.path(), "its file _pm has other rows");
    }
    if (rows != piece.rows) {
      throw TableFailure.damaged(
          file.path(), "it has " + rows + " rows, and its transaction " + piece.rows);
    }
  }

  @Override
  public boolean hasNext() {
    try {
      while (left == 0 && group < reader.getRowGroups().size()) {
        openGroup(group);
        check.demandUnchanged(); // all bytes of the group were read: batches are decoded of a copy
        group++;
      }
    } catch (Exception e) {
      throw TableFailure.unreadable(file.path(), e);
    }
    if (left == 0) {
      close();
    }
    return left > 0;
  }

  private void openGroup(int ordinal) throws IOException {
    long rows = ((BlockMetaData) reader.getRowGroups().get(ordinal)).getRowCount();
    SidecarBounds bounds =
        sidecar == null ? null : new SidecarBounds(sidecar, ordinal, piece.snapshot);
    if ((bounds != null && !groups.canMatch(bounds)) || !hasTimesInRange(ordinal, rows, bounds)) {
      return;
    }
    List<Type> fields = new ArrayList<>();
    for (ParquetColumn column : columns) {
      if (column.field() != null) {
        fields.add(column.field());
      }
    }
    if (!fields.isEmpty()) {
      MessageType projection = new MessageType(schema.getName(), fields);
      reader.setRequestedSchema(projection);
      PageReadStore pages = reader.readRowGroup(ordinal);
      ColumnReadStore store = store(pages, projection);
      for (ParquetColumn column : columns) {
        column.open(pages, store, projection);
      }
    }
    long rowBytes =
        ((BlockMetaData) reader.getRowGroups().get(ordinal)).getTotalByteSize() / Math.max(rows, 1);
    batchRows = (int) Math.max(1, Math.min(MAX_ROWS, MAX_BYTES / Math.max(rowBytes, 1)));
    left = rows;
  }

  private ColumnReadStore store(PageReadStore pages, MessageType projection) {
    return new ColumnReadStoreImpl(
        pages,
        new GroupRecordConverter(projection).getRootConverter(),
        projection,
        reader.getFileMetaData().getCreatedBy());
  }

  private boolean hasTimesInRange(int ordinal, long rows, SidecarBounds bounds) throws IOException {
    TableColumn timestamp = piece.snapshot.timestamp;
    if (timestamp == null || range.covers(piece.start, piece.end)) {
      return true;
    }
    long[] known = bounds == null ? null : bounds.of(timestamp);
    if (known != null) {
      return range.overlaps(known[0], after(known[1]));
    }
    Type field = ParquetColumn.field(timestamp, schema);
    if (field == null) {
      return true;
    }
    List<Type> fields = new ArrayList<>();
    fields.add(field);
    MessageType projection = new MessageType(schema.getName(), fields);
    reader.setRequestedSchema(projection);
    ColumnDescriptor descriptor = (ColumnDescriptor) projection.getColumns().get(0);
    ColumnReader times =
        store(reader.readRowGroup(ordinal), projection).getColumnReader(descriptor);
    for (long row = 0; row < rows; row++) {
      if (times.getCurrentDefinitionLevel() == descriptor.getMaxDefinitionLevel()) {
        long time = times.getLong();
        if (range.overlaps(time, after(time))) {
          return true;
        }
      }
      times.consume();
    }
    return false;
  }

  private static long after(long time) {
    return time == Long.MAX_VALUE ? time : time + 1;
  }

  @Override
  public Object next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    int count = (int) Math.min(left, batchRows);
    ColumnVector[] values = new ColumnVector[columns.size()];
    try {
      for (int i = 0; i < values.length; i++) {
        values[i] = ((ParquetColumn) columns.get(i)).read(count);
      }
    } catch (RuntimeException e) {
      throw TableFailure.unreadable(file.path(), e);
    }
    left -= count;
    return new ColumnarBatch(partition.after(values, count), count);
  }

  @Override
  public void onTaskCompletion(TaskContext context) {
    close();
  }

  private void close() {
    try {
      reader.close();
    } catch (IOException e) {
      // the file was only read
    }
    file.close();
    columns.clear(); // the task keeps its listeners, and columns hold pages
  }
}
