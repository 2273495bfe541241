"""Metadata and listings of files that do not exist.

``Listing.java`` makes the listings. All files have 100 bytes and the same modification time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

import xskip
from xskip.indexing.source import new_write_options
from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.metadatastore.commit import CommitRecord, RecordedFile, publish
from xskip.metadatastore.recorded_files import write_files
from xskip.types import bloom_bits
from xskip.types.datatypes import Bloom, Struct, arrow_type

TYPES = {
    "n": "int",
    "id": "bigint",
    "ts": "timestamp",
    "temp": "double",
    "day": "date",
    "city": "string",
    "user": "string",
    "price": "decimal(10,2)",
}
START = 1_700_000_000_000_000


def padded(numbers: npt.ArrayLike, digits: int) -> pa.Array:
    """Return integers as strings, padded with zeros to a number of digits."""
    return pc.utf8_lpad(pa.array(np.asarray(numbers, np.int64)).cast(pa.string()), digits, "0")


def bounds(name: str, files: int) -> tuple[pa.Array, pa.Array]:
    """Return the minimum and maximum of a column in each file.

    Parameters
    ----------
    name : str
        A column of ``TYPES``. The bounds of ``id``, ``ts`` and ``day`` rise from file to file, the bounds of the other
        columns are random.
    files : int
        The number of files.

    Returns
    -------
    (pyarrow.Array, pyarrow.Array)
        The minimums and the maximums: int32, int64, double or string, and for ``price`` decimal128(19, 0). Dates are
        int32 days and timestamps are int64 microseconds since 1970-01-01.
    """
    rng = np.random.default_rng(list(TYPES).index(name))
    place = np.arange(files) / files
    low, width = rng.random(files), rng.random(files) ** 4
    high = np.minimum(low + width, 1)

    def texts(parts: npt.NDArray[np.float64], stem: str, most: int) -> pa.Array:
        return pc.binary_join_element_wise(stem, padded(parts * most, 7), "")

    match name:
        case "n":
            return pa.array((low * 1e6).astype(np.int32)), pa.array((high * 1e6).astype(np.int32))
        case "id":
            return pa.array((place * 1e12).astype(np.int64)), pa.array(((place + 1e-5) * 1e12).astype(np.int64))
        case "ts":
            ends = [START + ((place + wide) * 3e13).astype(np.int64) for wide in (0, 1e-4)]
            return pa.array(ends[0]), pa.array(ends[1])
        case "temp":
            return pa.array(low * 60 - 20), pa.array(high * 60 - 20)
        case "day":
            return pa.array((19_000 + place * 365).astype(np.int32)), pa.array((19_000 + place * 365).astype(np.int32))
        case "city":
            return texts(low, "city-", 500), texts(high, "city-", 500)
        case "user":
            return texts(low, "user-", 10**7), texts(high, "user-", 10**7)
        case _:
            return tuple(pa.array((part * 1e6).astype(np.int64)).cast(pa.decimal128(19)) for part in (low, high))


def minmax(name: str, low: pa.Array, high: pa.Array, unknown: pa.Array | None = None) -> IndexColumn:
    """Return a MinMax index of a column.

    Parameters
    ----------
    name : str
        A column of ``TYPES``.
    low : pyarrow.Array
        The minimum in each file, null for a file without values.
    high : pyarrow.Array
        The maximum in each file, null for a file without values.
    unknown : pyarrow.BooleanArray, optional
        True for the files whose bounds are unknown. None means that the bounds of all files are known.

    Returns
    -------
    IndexColumn
    """
    storage = Struct((("min", TYPES[name]), ("max", TYPES[name])))
    fields = list(arrow_type(storage))
    values = pa.StructArray.from_arrays([end.cast(fields[0].type) for end in (low, high)], fields=fields, mask=unknown)
    return IndexColumn(IndexDefinition("minmax", (name,), types=(TYPES[name],)), storage, values)


def column(name: str, files: int) -> IndexColumn:
    """Return a MinMax index of a column: one file in 100 has unknown bounds, one file in 50 has no values."""
    rng = np.random.default_rng(7)
    empty, unknown = pa.array(rng.random(files) < 0.02), pa.array(rng.random(files) < 0.01)
    ends = []
    for part in bounds(name, files):
        values = part.cast(pa.decimal128(38, 2)) if TYPES[name].startswith("decimal") else part
        ends.append(pc.if_else(empty, pa.scalar(None, values.type), values))
    low, high = ends
    return minmax(name, low, high, unknown)


def filters(files: int) -> IndexColumn:
    """Return a BloomFilter index of ``user``: 1,000 different filters of 20 values, which repeat."""
    rng = np.random.default_rng(7)
    size = bloom_bits.size_for(20, 0.01)
    some = pa.array([bloom_bits.build(rng.integers(-(2**62), 2**62, 20), *size) for _ in range(1_000)], pa.binary())
    return IndexColumn(
        IndexDefinition("bloomfilter", ("user",), types=("string",)),
        Bloom(),
        some.take(pa.array(np.arange(files) % 1_000)),
    )


def table_of(root: str, first: int, indexes: Sequence[IndexColumn]) -> MetadataTable:
    """Return the metadata of numbered files.

    Parameters
    ----------
    root : str
        The directory of the dataset.
    first : int
        The number of the first file.
    indexes : sequence of IndexColumn
        The indexes, of equal length, which is the number of files.

    Returns
    -------
    MetadataTable
    """
    files = files_of(root, first, len(indexes[0].values))
    return MetadataTable(files, {}, {index.definition.key: index for index in indexes})


def files_of(root: str, first: int, count: int) -> DataFiles:
    """Return numbered files of a dataset, see :func:`table_of`."""
    names = pc.binary_join_element_wise(f"{root}/part-", padded(np.arange(first, first + count), 8), ".parquet", "")
    return DataFiles(names, pa.array(np.full(count, 100)), pa.array(np.full(count, START // 1_000)))


def described(root: str, files: int) -> MetadataTable:
    """Return the metadata of the given number of files: the bounds of eight columns and a Bloom filter of ``user``."""
    return table_of(root, 0, [*(column(name, files) for name in TYPES), filters(files)])


def create(spark: SparkSession, root: str, types: Mapping[str, str], tables: Iterable[MetadataTable]) -> None:
    """Create a dataset without rows, and commit metadata as if a build had found files in the dataset.

    Parameters
    ----------
    spark : SparkSession
    root : str
        The directory of the dataset, which must not exist.
    types : mapping of str to str
        The columns of the dataset and their Spark types.
    tables : iterable of MetadataTable
        The metadata. Each table becomes one or more metadata files.
    """
    schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
    spark.createDataFrame([], schema).write.parquet(root)
    engine, source = xskip.SkippingIndex.for_path(spark, root)._open()
    write_options = new_write_options(spark, engine, 4)
    files: list[tuple[Path, RecordedFile]] = []
    with tempfile.TemporaryDirectory(dir=Path(root).parent) as local:
        for table in tables:
            files += write_files(table, source.location.identifier, Path(local), len(files), write_options)
        record = CommitRecord(0, source.root, 4, tuple(entry for _, entry in files), source.read_profile, types, 0)
        publish(source.storage, source.directory, None, files, record)
    engine.forget(source.directory)


@cache
def listing_class(spark: SparkSession) -> Any:
    """Compile ``Listing.java`` in the driver, and return its Java class."""
    jvm: Any = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    scala_212 = jvm.scala.util.Properties.versionNumberString().startswith("2.12")
    seq = "scala.collection.Seq" if scala_212 else "scala.collection.immutable.Seq"
    compiler.cook((Path(__file__).parent / "Listing.java").read_text().replace("@SEQ@", seq))
    return compiler.getClassLoader().loadClass("bench.Listing")


def relation(spark: SparkSession, root: str, files: int, *, anew: bool) -> tuple[DataFrame, Any]:
    """Return a DataFrame over files that do not exist, and its listing.

    Parameters
    ----------
    spark : SparkSession
    root : str
        The directory of a dataset that :func:`create` made.
    files : int
        The number of files to list.
    anew : bool
        Whether ``listing.refresh()`` lists the files another time.

    Returns
    -------
    (DataFrame, py4j.java_gateway.JavaObject)
        The DataFrame, and its ``bench.Listing``.
    """
    xskip.declare_classes(spark, file_index="bench.Listing")
    jvm: Any = spark._jvm
    arguments = jvm.java.util.ArrayList()
    for each in (f"file:{root}", files, anew):
        arguments.add(each)
    listing = listing_class(spark).getConstructors()[0].newInstance(arguments.toArray())
    real = spark.read.parquet(root)._jdf.queryExecution().analyzed().relation()
    df = spark._jsparkSession.baseRelationToDataFrame(getattr(listing, "in")(real))
    return DataFrame(df, spark), listing
