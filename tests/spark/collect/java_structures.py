"""The data structures of ``io.xskip.collect`` in the driver's JVM, for tests that compare them with plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from tests.spark.java_classes import JavaClasses

#: How the kernel receives rows: in two column batches for each file, as the rows of one batch, or as copies of rows.
Form = Literal["batches", "rows", "unsafe rows"]
FORMS: tuple[Form, ...] = ("batches", "rows", "unsafe rows")

Longs = npt.NDArray[np.int64]


class JavaSet:
    """A set of longs, ``DistinctLongs`` or ``LongSet``, whose methods only the package of the set can call."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._classes = JavaClasses(spark)
        self._set = self._classes.new(f"collect.{name}")
        self._methods = {m.getName(): m for m in self._classes.load(f"collect.{name}").getDeclaredMethods()}
        for method in self._methods.values():
            method.setAccessible(True)
        handles = jvm.java.lang.invoke
        add = handles.MethodHandles.publicLookup().unreflect(self._methods["add"]).bindTo(self._set)
        consumer = jvm.java.lang.Class.forName("java.util.function.LongConsumer")
        self._consumer = handles.MethodHandleProxies.asInterfaceInstance(consumer, add)

    def add(self, values: Longs) -> None:
        """Add values one by one; the loop runs in the JVM."""
        packed = self._little_endian(self._jvm.java.nio.ByteBuffer.wrap(bytearray(values.astype("<i8").tobytes())))
        longs = self._classes.empty_array(len(values), self._jvm.long)
        packed.asLongBuffer().get(longs)
        self._jvm.java.util.Spliterators.spliterator(longs, 0).forEachRemaining(self._consumer)

    def values(self) -> Longs:
        """Return the values in ascending order."""
        longs = self._call("values")
        packed = self._little_endian(self._jvm.java.nio.ByteBuffer.allocate(8 * len(longs)))
        packed.asLongBuffer().put(longs)
        return np.sort(np.frombuffer(packed.array(), "<i8").astype(np.int64))

    def size(self) -> int:
        return int(self._call("size"))

    def clear(self) -> None:
        self._call("clear")

    def _call(self, name: str) -> Any:
        return self._methods[name].invoke(self._set, self._classes.array([]))

    def _little_endian(self, buffer: Any) -> Any:
        return buffer.order(self._jvm.java.nio.ByteOrder.LITTLE_ENDIAN)


class Kernel:
    """The kernel of builds, ``KernelFunction``, over files whose rows are in memory."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        self._classes = JavaClasses(spark)

    def run(
        self, specs: Sequence[str], files: Sequence[pa.Array], form: Form, *, split: Sequence[int] = ()
    ) -> list[list[Any]]:
        """Run accumulators over one column of files that have at least one row each.

        Parameters
        ----------
        specs : sequence of str
            The accumulators as ``kind:1:type:limit:rate``.
        files : sequence of pyarrow.Array
            The column of each file.
        form : Form
            How the kernel receives the rows.
        split : sequence of int
            The positions of the files of which a task reads only a part.

        Returns
        -------
        list of list
            The results of all accumulators, for each file.
        """
        with self._results(specs, files, form, split) as rows:
            results = [[self._plain(value) for value in row.values()] for row in rows]
        assert [ordinal for ordinal, *_ in results] == list(range(len(files)))
        return [values for _, *values in results]

    def counts(self, specs: Sequence[str], files: Sequence[pa.Array], form: Form) -> list[list[int]]:
        """Return the number of rows of each file, then the number of NULLs in the column of each accumulator."""
        with self._results([*specs, "rows"], files, form, ()) as rows:
            return [list(list(row.values())[-1].toLongArray()) for row in rows]

    @contextmanager
    def _results(
        self, specs: Sequence[str], files: Sequence[pa.Array], form: Form, split: Sequence[int]
    ) -> Iterator[Any]:
        ordinals = [pa.array([i] * len(values), pa.int32()) for i, values in enumerate(files)]
        batches = [pa.record_batch([n, v], ["ordinal", "c"]) for n, v in zip(ordinals, files, strict=True)]
        jvm = self._jvm
        split_files = jvm.java.util.HashSet()
        for i in split:
            split_files.add(i)
        lines, columns = self._classes.array(specs, jvm.java.lang.String), self._classes.array([0, 1], jvm.int)
        kernel = self._classes.new("collect.KernelFunction", lines, columns, split_files)
        with self._pieces(batches, form) as pieces:
            yield kernel.call(pieces)

    @contextmanager
    def _pieces(self, batches: Sequence[pa.RecordBatch], form: Form) -> Iterator[Any]:
        """Provide a Java iterator over the rows or batches; its memory is free afterwards."""
        with ExitStack() as stack:
            if form == "batches":
                pieces = self._jvm.java.util.ArrayList()
                for batch in batches:
                    half = batch.num_rows // 2  # an empty batch before a single row
                    pieces.add(self._columnar(batch.slice(0, half), stack))
                    pieces.add(self._columnar(batch.slice(half), stack))
                yield pieces.iterator()
                return
            table = pa.Table.from_batches(batches).combine_chunks()
            rows = self._columnar(table.to_batches()[0], stack).rowIterator()
            yield rows if form == "rows" else self._unsafe(rows, table.schema)

    def _columnar(self, batch: pa.RecordBatch, stack: ExitStack) -> Any:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        stream = self._jvm.java.io.ByteArrayInputStream(bytearray(sink.getvalue().to_pybytes()))
        allocator = self._jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator()
        reader = self._jvm.org.apache.arrow.vector.ipc.ArrowStreamReader(stream, allocator)
        stack.callback(reader.close)
        assert reader.loadNextBatch()
        vectorized = self._jvm.org.apache.spark.sql.vectorized
        columns = [vectorized.ArrowColumnVector(v) for v in reader.getVectorSchemaRoot().getFieldVectors()]
        return vectorized.ColumnarBatch(self._classes.array(columns, vectorized.ColumnVector), batch.num_rows)

    def _unsafe(self, rows: Any, schema: pa.Schema) -> Any:
        """Return an iterator over copies of rows in a single UnsafeRow."""
        ddl = ", ".join(f"{field.name} {_ddl(field.type)}" for field in schema)
        types = self._jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl)
        projection = self._jvm.org.apache.spark.sql.catalyst.expressions.UnsafeProjection.create(types)
        converters = self._jvm.scala.collection.JavaConverters
        return converters.asJavaIterator(converters.asScalaIterator(rows).map(projection))

    def _plain(self, value: Any) -> Any:
        """Return a result as a Python value; strings as bytes."""
        if not hasattr(value, "getClass"):
            return value
        match value.getClass().getSimpleName():
            case "UTF8String":
                return value.getBytes()
            case "Decimal":
                return Decimal(value.toString())
            case "UnsafeArrayData":
                return list(value.toDoubleArray())
            case "GenericArrayData":
                return [self._plain(element) for element in value.array()]
            case other:
                raise AssertionError(other)


_DDL: Mapping[pa.DataType, str] = {
    pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint",
    pa.float32(): "float", pa.float64(): "double", pa.string(): "string", pa.binary(): "binary",
}  # fmt: skip


def _ddl(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return f"array<{_ddl(kind.value_type)}>" if pa.types.is_list(kind) else _DDL[kind]
