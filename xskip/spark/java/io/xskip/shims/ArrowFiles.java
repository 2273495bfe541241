package io.xskip.shims;

import java.io.FileOutputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.dictionary.DictionaryProvider;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils$;

/** Rows in files of Arrow. */
public final class ArrowFiles {
  private static final int BATCH = 100; // Bloom filters are large

  private ArrowFiles() {}

  /** Writes rows as a stream to a local file. */
  public static void write(List<InternalRow> rows, StructType schema, String path)
      throws Exception {
    BufferAllocator allocator =
        ArrowUtils$.MODULE$.rootAllocator().newChildAllocator("xskip", 0, Long.MAX_VALUE);
    OutputStream file = new FileOutputStream(path);
    VectorSchemaRoot root = null;
    try {
      root = VectorSchemaRoot.create(arrowSchema(schema), allocator);
      ArrowStreamWriter stream = new ArrowStreamWriter(root, (DictionaryProvider) null, file);
      stream.start();
      ArrowWriter writer = ArrowWriter.create(root);
      for (int start = 0; start < rows.size(); start += BATCH) {
        for (InternalRow row : rows.subList(start, Math.min(rows.size(), start + BATCH))) {
          writer.write(row);
        }
        writer.finish();
        stream.writeBatch();
        writer.reset();
      }
      stream.end();
    } finally {
      if (root != null) {
        root.close();
      }
      file.close();
      allocator.close();
    }
  }

  private static Schema arrowSchema(StructType schema) throws Exception {
    for (Method method : ArrowUtils$.class.getMethods()) {
      Class<?>[] types = method.getParameterTypes();
      if (!method.getName().equals("toArrowSchema") || types.length < 4) {
        continue;
      }
      Object[] arguments = new Object[types.length]; // Spark 4.3 has a fifth
      arguments[0] = schema;
      arguments[1] = "UTC";
      arguments[2] = Boolean.TRUE; // to refuse two columns of one name
      for (int i = 3; i < arguments.length; i++) {
        arguments[i] = Boolean.FALSE;
      }
      return (Schema) method.invoke(ArrowUtils$.MODULE$, arguments);
    }
    throw new NoSuchMethodException("ArrowUtils.toArrowSchema");
  }
}
