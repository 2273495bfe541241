"""Helpers of the tests with Spark: datasets with known files, their metadata, and the files that Spark opens."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import DataFrame, Row, SparkSession, functions
from pyspark.sql.types import (
    StructType,
)

import xskip
from tests.data_files import arrow_table, struct_of, write_file
from tests.metadatastore.samples import opened, put_foreign
from tests.spark.java_classes import JavaClasses
from xskip.indexing.reader import PathReader
from xskip.metadata.data_files import table_identifier
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.versions import WriteOptions
from xskip.spark.query.spark_engine import engine_of

Counted = Callable[[str, int], None]
SPARK_4 = int(pyspark.__version__.partition(".")[0]) >= 4

#: The Avro jar of an older Spark has no second data source API for a newer one.
AVRO_V2 = not os.environ.get("XSKIP_TEST_AVRO")


def needs_spark_4(why: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test on Spark 3.5."""
    return pytest.mark.skipif(not SPARK_4, reason=f"Spark 3.5 {why}")


def write_files(
    spark: SparkSession,
    root: Path,
    schema: str | StructType,
    files: Mapping[str, Sequence[Any]],
    fmt: str = "parquet",
    options: dict[str, str] | None = None,
) -> str:
    """Write one data file for each entry, named ``<key>.<fmt>`` below ``root``, and return the dataset's path.

    A key may contain folders such as ``p=1/``. Spark writes the files that Python cannot write as Spark does.
    """
    for name, rows in files.items():
        path = root / f"{name}.{fmt}"
        if not options and write_file(spark, path, rows, _struct(schema)):
            continue
        staging = root.parent / f"{root.name}-staging"
        df = frame_of(spark, rows, schema)
        df.write.mode("overwrite").format(fmt).options(**(options or {})).save(str(staging))
        _move_part(staging, path)
    return str(root)


def frame_of(spark: SparkSession, rows: Iterable[Any], schema: str | StructType) -> DataFrame:
    """Return rows as a DataFrame with one partition, by Arrow where it has all types.

    For lists of rows, PySpark runs a job with Python workers.
    """
    rows, struct = list(rows), _struct(schema)
    table = arrow_table(rows, struct) if SPARK_4 and rows else None
    return spark.createDataFrame(rows if table is None else table, schema).coalesce(1)


def _struct(schema: str | StructType) -> StructType:
    return struct_of(schema) if isinstance(schema, str) else schema


def _move_part(folder: Path, target: Path) -> None:
    """Move the only part file of a folder to the path ``target``."""
    (part,) = folder.glob("part-*")
    target.parent.mkdir(parents=True, exist_ok=True)
    part.rename(target)


def opened_files(df: DataFrame) -> set[str]:
    """Return the base names, without extension, of the files in the partitions of Spark's physical plan."""
    with _planned(df) as plan:
        leaves = plan.collectLeaves()
        found: set[str] = set()
        for i in range(leaves.length()):
            found |= _files_of(leaves.apply(i))
        return found


@contextmanager
def _planned(df: DataFrame) -> Iterator[Any]:
    """Yield the physical plan of a new QueryExecution, without adaptive execution."""
    spark = df.sparkSession
    before = spark.conf.get("spark.sql.adaptive.enabled")
    assert before is not None
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        yield df.select("*")._jdf.queryExecution().executedPlan()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


def _files_of(leaf: Any) -> set[str]:
    kind = leaf.getClass().getSimpleName()
    if kind in ("FileSourceScanExec", "RangedScan"):
        partitions = leaf.inputRDD().partitions()
    elif kind == "BatchScanExec":
        partitions = leaf.scan().toBatch().planInputPartitions()
    else:
        return set()
    names = set()
    for partition in partitions:
        names |= {_stem(file.toPath().getName()) for file in partition.files()}
    return names


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def formatted(df: DataFrame) -> str:
    """Return what ``df.explain("formatted")`` prints."""
    jvm: Any = df.sparkSession._jvm
    tools = jvm.org.apache.spark.sql.api.python.PythonSQLUtils
    return str(tools.explainString(df._jdf.queryExecution(), "formatted"))


def kept(spark: SparkSession, path: str, predicate: str, fmt: str = "parquet") -> set[str]:
    """Return the base names of the files that a query with this filter reads."""
    return opened_files(spark.read.format(fmt).load(path).filter(predicate))


def with_and_without(df_of: Any, spark: SparkSession) -> tuple[list[Row], list[Row]]:
    """Return the sorted rows of a query with skipping on, and with skipping off.

    ``df_of()`` builds a new DataFrame for each of both runs.
    """
    on = sorted(df_of().collect(), key=repr)
    xskip.disable(spark)
    try:
        off = sorted(df_of().collect(), key=repr)
    finally:
        xskip.enable(spark)
    return on, off


def assert_same_rows(df_of: Any, spark: SparkSession) -> int:
    """Assert that a query has the same rows with skipping on and off, and return their number."""
    on, off = with_and_without(df_of, spark)
    assert repr(on) == repr(off)
    return len(on)


def index(
    spark: SparkSession, path: str, indexes: Iterable[Any], fmt: str = "parquet", **options: str
) -> xskip.SkippingIndex:
    """Create an index and return it."""
    made = xskip.SkippingIndex.for_path(spark, path, format=fmt, options=options)
    made.create(list(indexes))
    return made


def write_indexed(
    spark: SparkSession, root: Path, schema: str, files: Mapping[str, Sequence[Any]], indexes: Iterable[Any], fmt: str
) -> str:
    """Write files as :func:`write_once` does, with an index, and return the dataset's path."""
    path = write_once(spark, root, schema, files, fmt)
    index(spark, path, indexes, fmt)
    return path


def metadata(made: xskip.SkippingIndex) -> MetadataTable:
    """Return the metadata table of an index, with all columns."""
    return opened(made.describe().location).load()


#: Files by day and hour, each of one row that both columns tell.
DAYS = {f"day=2026-01-0{d}/h={h}/d{d}h{h}": [(10 * d + h, f"s{d}")] for d in (1, 2, 3) for h in (1, 2)}


def by_days(spark: SparkSession, root: Path, fmt: str = "parquet") -> tuple[xskip.SkippingIndex, str]:
    """Write the files of ``DAYS`` below ``lake``, and return an index on both columns and the dataset's path."""
    path = write_once(spark, root / "lake", "x int, s string", DAYS, fmt)
    made = xskip.SkippingIndex.for_path(spark, path, format=fmt)
    made.create([xskip.MinMax("x"), xskip.ValueList("s")])
    return made, path


def rows_of(made: xskip.SkippingIndex) -> list[str]:
    """Return the metadata of each file as text, sorted."""
    table = metadata(made)
    columns = [table.files.names, table.files.modified, *(c.values for c in table.partitions.values())]
    columns += [table.indexes[key].values for key in sorted(table.indexes)]
    return sorted(map(str, zip(*(column.to_pylist() for column in columns), strict=True)))


def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each later listing of files adds its directories."""
    found: list[str] = []
    real = PathReader.load

    def noted(reader: PathReader, session: SparkSession, *paths: str, **options: str) -> Any:
        found.extend(paths)
        return real(reader, session, *paths, **options)

    monkeypatch.setattr(PathReader, "load", noted)
    return found


def given_away(
    spark: SparkSession, made: xskip.SkippingIndex, tables: Iterable[MetadataTable], version: int = 4
) -> None:
    """Replace the metadata of an index with tables in files that look like those of another program."""
    described = made.describe()
    shutil.rmtree(described.location)
    put_foreign(described.location, tables, WriteOptions(version), table_identifier(described.dataset))
    engine_of(spark).forget_all()
    assert made.exists()


def write_once(
    spark: SparkSession,
    root: Path,
    schema: str,
    files: Mapping[str, Sequence[Any]],
    fmt: str = "parquet",
    options: dict[str, str] | None = None,
) -> str:
    """Write the same files as :func:`write_files`, with one Spark job for all files that have rows."""
    full = {root / f"{name}.{fmt}": rows for name, rows in files.items() if rows}
    if options or not all(write_file(spark, path, rows, struct_of(schema)) for path, rows in full.items()):
        numbered = [(number, *row) for number, rows in enumerate(full.values()) for row in rows]
        staging = root.parent / f"{root.name}-staging-once"
        df = frame_of(spark, numbered, f"__file int, {schema}")
        df.write.mode("overwrite").format(fmt).options(**(options or {})).partitionBy("__file").save(str(staging))
        for number, path in enumerate(full):
            _move_part(staging / f"__file={number}", path)
        shutil.rmtree(staging)
    return write_files(spark, root, schema, {name: rows for name, rows in files.items() if not rows}, fmt, options)


def put_files(root: Path, schema: pa.Schema, files: Mapping[str, Sequence[Any]]) -> str:
    """Write Parquet files as :func:`write_files` names them, without Spark, and return the dataset's path."""
    for name, rows in files.items():
        path = root / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True)]
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), path)
    return str(root)


def opened_by_scan(df: DataFrame) -> list[set[str]]:
    """Return the files that each scan of a query reads, in the order of the plan, without adaptive execution.

    The scans of subqueries count as well.
    """
    with _planned(df) as plan:
        return [_files_of(scan) for scan in scans_of(plan)]


def compared_files(spark: SparkSession, query: str) -> set[str]:
    """Assert that a query has the same result without xskip, and return the files that its only scan reads."""
    found = spark.sql(query)
    rows = found.collect()
    xskip.disable(spark)
    try:
        plain = spark.sql(query)
        assert repr(rows) == repr(plain.collect()), query
        assert found.dtypes == plain.dtypes
    finally:
        xskip.enable(spark)
    (files,) = opened_by_scan(found)
    return files


def scans_of(plan: Any) -> list[Any]:
    """Return the file scans of a physical plan, also those in adaptive stages, commands, caches and subqueries."""
    kind = plan.getClass().getSimpleName()
    if kind in ("FileSourceScanExec", "RangedScan", "BatchScanExec"):
        return [plan, *_scans_of_all(plan.subqueries())]
    inner = {
        "AdaptiveSparkPlanExec": "executedPlan",
        "ShuffleQueryStageExec": "plan",
        "BroadcastQueryStageExec": "plan",
        "ResultQueryStageExec": "plan",
        "TableCacheQueryStageExec": "plan",
        "CommandResultExec": "commandPhysicalPlan",
        "ReusedExchangeExec": "child",
        "ReusedSubqueryExec": "child",
    }.get(kind)
    if inner:
        return scans_of(getattr(plan, inner)())
    if kind == "InMemoryTableScanExec":
        return scans_of(plan.relation().cacheBuilder().cachedPlan())
    return _scans_of_all(plan.children()) + _scans_of_all(plan.subqueries())


def _scans_of_all(plans: Any) -> list[Any]:
    return [scan for i in range(plans.length()) for scan in scans_of(plans.apply(i))]


class _Listener:
    """A ``QueryExecutionListener`` of Spark that collects the executions."""

    def __init__(self) -> None:
        self.executions: list[Any] = []

    def onSuccess(self, name: str, execution: Any, nanoseconds: int) -> None:  # noqa: N802 - Java's name
        self.executions.append(execution)

    def onFailure(self, name: str, execution: Any, error: Any) -> None:  # noqa: N802 - Java's name
        self.executions.append(execution)

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


def _in_java(spark: SparkSession, listener: _Listener) -> Any:
    """Return the listener as one Java object.

    py4j makes a new Java object each time that a Python object is an argument, so a listener that is registered and
    unregistered as a Python object stays registered.
    """
    assert spark._jvm is not None
    held = spark._jvm.java.util.ArrayList()
    held.add(listener)
    return held.get(0)


def ran(spark: SparkSession, action: Any) -> list[set[str]]:
    """Run ``action()``, and return the files that each scan of the executed plans has read."""
    listener = _Listener()
    manager = spark._jsparkSession.listenerManager()
    bus = spark.sparkContext._jsc.sc().listenerBus()
    bus.waitUntilEmpty()  # events of earlier queries are not this listener's
    registered = _in_java(spark, listener)
    manager.register(registered)
    try:
        action()
        bus.waitUntilEmpty()
    finally:
        manager.unregister(registered)
    # a subquery stands in several places of a plan
    scans = [scan for execution in listener.executions for scan in scans_of(execution.executedPlan())]
    return [_files_of(scan) for scan in {scan.id(): scan for scan in scans}.values()]


def counters(spark: SparkSession) -> dict[str, int]:
    """Return the counters that the sinks of the running context report."""
    context: Any = spark.sparkContext._jsc.sc()
    sources = JavaClasses(spark).call("shims.SparkCompat", "metricsSystem", context).getSourcesByName("xskip")
    assert sources.length() == 1
    found = sources.head().metricRegistry().getCounters()
    return {str(name): int(found[name].getCount()) for name in found}


def matching_files(df: DataFrame, predicate: str) -> set[str]:
    """Return the base names, without extension, of the files with a matching row, read with skipping off."""
    spark = df.sparkSession
    xskip.disable(spark)
    try:
        found = df.filter(predicate).select(functions.input_file_name()).distinct().collect()
        return {_stem(unquote(row[0]).rpartition("/")[2]) for row in found}
    finally:
        xskip.enable(spark)


@contextmanager
def spoiled(paths: Iterable[Path]) -> Iterator[None]:
    """Run the body while the bytes of files are unreadable.

    The files keep their lengths and times, so that only queries that skip them succeed.
    """
    kept = {path: (path.read_bytes(), path.stat()) for path in paths}
    assert kept, "nothing to spoil"
    try:
        for path, (data, stat) in kept.items():
            path.write_bytes(b"\x00" * len(data))
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        yield
    finally:
        for path, (data, stat) in kept.items():
            path.write_bytes(data)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def record_again(directory: Path) -> None:
    """Rewrite the only commit record of an index without checksums, with the present sizes of its files."""
    (record,) = (directory / "_commits").glob("*.json")
    body = json.loads(record.read_text())
    files = [
        {"name": f["name"], "rows": f["rows"], "size": (directory / f["name"]).stat().st_size} for f in body["files"]
    ]
    record.write_text(json.dumps({**body, "files": files}))
