"""Objects that need not exist: their metadata, and their listing by ``Listing.java``; 100 bytes and one moment each."""

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
from xskip.build.source import form_of
from xskip.metadata.objects import Objects
from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.metadatastore.commit import CommitRecord, RecordedFile, publish
from xskip.metadatastore.snapshot import write_files
from xskip.types import bloom_filter
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
    """Whole numbers as text."""
    return pc.utf8_lpad(pa.array(np.asarray(numbers, np.int64)).cast(pa.string()), digits, "0")


def bounds(name: str, objects: int) -> tuple[pa.Array, pa.Array]:
    """Least and greatest values: ``id``, ``ts`` and ``day`` rise from object to object, the others do not."""
    rng = np.random.default_rng(list(TYPES).index(name))
    place = np.arange(objects) / objects
    low, width = rng.random(objects), rng.random(objects) ** 4
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
    """Bounds of a column; nothing is known where ``unknown`` says so."""
    storage = Struct((("min", TYPES[name]), ("max", TYPES[name])))
    fields = list(arrow_type(storage))
    values = pa.StructArray.from_arrays([end.cast(fields[0].type) for end in (low, high)], fields=fields, mask=unknown)
    return IndexColumn(IndexDefinition("minmax", (name,), types=(TYPES[name],)), storage, values)


def column(name: str, objects: int) -> IndexColumn:
    """Bounds of a column; of one object in 100 nothing is known, and one in 50 holds no value."""
    rng = np.random.default_rng(7)
    empty, unknown = pa.array(rng.random(objects) < 0.02), pa.array(rng.random(objects) < 0.01)
    ends = []
    for part in bounds(name, objects):
        values = part.cast(pa.decimal128(38, 2)) if TYPES[name].startswith("decimal") else part
        ends.append(pc.if_else(empty, pa.scalar(None, values.type), values))
    low, high = ends
    return minmax(name, low, high, unknown)


def filters(objects: int) -> IndexColumn:
    """Bloom filters of 20 users each, of which 1,000 are different."""
    rng = np.random.default_rng(7)
    size = bloom_filter.size_for(20, 0.01)
    some = pa.array([bloom_filter.build(rng.integers(-(2**62), 2**62, 20), *size) for _ in range(1_000)], pa.binary())
    return IndexColumn(
        IndexDefinition("bloomfilter", ("user",), types=("string",)),
        Bloom(),
        some.take(pa.array(np.arange(objects) % 1_000)),
    )


def table_of(root: str, first: int, indexes: Sequence[IndexColumn]) -> MetadataTable:
    """Metadata of as many objects as the indexes know, numbered from the first."""
    count = len(indexes[0].values)
    names = pc.binary_join_element_wise(f"{root}/part-", padded(np.arange(first, first + count), 8), ".parquet", "")
    known = Objects(names, pa.array(np.full(count, 100)), pa.array(np.full(count, START // 1_000)))
    return MetadataTable(known, {}, {index.definition.key: index for index in indexes})


def described(root: str, objects: int) -> MetadataTable:
    """Metadata of so many objects: bounds of eight columns, and a Bloom filter."""
    return table_of(root, 0, [*(column(name, objects) for name in TYPES), filters(objects)])


def create(spark: SparkSession, root: str, types: Mapping[str, str], tables: Iterable[MetadataTable]) -> None:
    """A dataset without rows, and metadata as if a build had found these objects in it."""
    schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
    spark.createDataFrame([], schema).write.parquet(root)
    engine, source = xskip.SkippingIndex.for_path(spark, root)._open()
    form = form_of(spark, engine, 4)
    files: list[tuple[Path, RecordedFile]] = []
    with tempfile.TemporaryDirectory(dir=Path(root).parent) as local:
        for table in tables:
            files += write_files(table, source.place.identifier, Path(local), len(files), form)
        record = CommitRecord(0, source.root, 4, tuple(entry for _, entry in files), source.reading, types, 0)
        publish(source.storage, source.directory, None, files, record)
    engine.forget(source.directory)


@cache
def listing_class(spark: SparkSession) -> Any:
    """``Listing.java``, compiled in the driver."""
    jvm: Any = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    scala_212 = jvm.scala.util.Properties.versionNumberString().startswith("2.12")
    seq = "scala.collection.Seq" if scala_212 else "scala.collection.immutable.Seq"
    compiler.cook((Path(__file__).parent / "Listing.java").read_text().replace("@SEQ@", seq))
    return compiler.getClassLoader().loadClass("bench.Listing")


def relation(spark: SparkSession, root: str, objects: int, *, anew: bool) -> tuple[DataFrame, Any]:
    """A DataFrame of so many files, and its listing."""
    xskip.declare_classes(spark, file_index="bench.Listing")
    jvm: Any = spark._jvm
    arguments = jvm.java.util.ArrayList()
    for each in (f"file:{root}", objects, anew):
        arguments.add(each)
    listing = listing_class(spark).getConstructors()[0].newInstance(arguments.toArray())
    real = spark.read.parquet(root)._jdf.queryExecution().analyzed().relation()
    df = spark._jsparkSession.baseRelationToDataFrame(getattr(listing, "in")(real))
    return DataFrame(df, spark), listing
