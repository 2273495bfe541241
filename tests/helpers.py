"""What the Spark tests share: datasets of known files, their metadata, and which files Spark really opens."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyspark
import pytest
from pyspark.sql import DataFrame, Row, SparkSession, functions
from pyspark.sql.types import StructType

import xskip
from tests.metadatastore.samples import opened, put_foreign
from xskip.build.reader import PathReader
from xskip.metadata.objects import table_identifier
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.versions import WriteOptions
from xskip.spark.query.engine import engine_of

Counted = Callable[[str, int], None]
SPARK_4 = int(pyspark.__version__.partition(".")[0]) >= 4

#: The Avro jar of an older Spark has no second data source API for a newer one.
AVRO_V2 = not os.environ.get("XSKIP_TEST_AVRO")


def needs_spark_4(why: str) -> pytest.MarkDecorator:
    """Skips a test on Spark 3.5, which lacks what it is about."""
    return pytest.mark.skipif(not SPARK_4, reason=f"Spark 3.5 {why}")


def write_files(
    spark: SparkSession,
    root: Path,
    schema: str | StructType,
    files: Mapping[str, Sequence[Any]],
    fmt: str = "parquet",
    options: dict[str, str] | None = None,
) -> str:
    """Writes one data file for each entry, named ``<key>.<fmt>`` under ``root``; a key may hold ``p=1/`` folders.

    Returns the dataset's path.
    """
    for name, rows in files.items():
        staging = root.parent / f"{root.name}-staging"
        df = spark.createDataFrame(list(rows), schema).coalesce(1)
        df.write.mode("overwrite").format(fmt).options(**(options or {})).save(str(staging))
        _move_part(staging, root / f"{name}.{fmt}")
    return str(root)


def _move_part(folder: Path, target: Path) -> None:
    """The one file that Spark has written to a folder, under a name of its own."""
    (part,) = folder.glob("part-*")
    target.parent.mkdir(parents=True, exist_ok=True)
    part.rename(target)


def opened_files(df: DataFrame) -> set[str]:
    """The base names, without extension, of the files that Spark's own plan reads: not what any report says."""
    with _planned(df) as plan:
        leaves = plan.collectLeaves()
        found: set[str] = set()
        for i in range(leaves.length()):
            found |= _files_of(leaves.apply(i))
        return found


@contextmanager
def _planned(df: DataFrame) -> Iterator[Any]:
    """The physical plan of a new QueryExecution, without adaptive execution."""
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
    if kind == "FileSourceScanExec":
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


def kept(spark: SparkSession, path: str, predicate: str, fmt: str = "parquet") -> set[str]:
    """The files that a filter on a dataset leaves, by their base names."""
    return opened_files(spark.read.format(fmt).load(path).filter(predicate))


def with_and_without(df_of: Any, spark: SparkSession) -> tuple[list[Row], list[Row]]:
    """The sorted rows of a query with skipping on and off; ``df_of()`` builds the DataFrame anew each time."""
    on = sorted(df_of().collect(), key=repr)
    xskip.disable(spark)
    try:
        off = sorted(df_of().collect(), key=repr)
    finally:
        xskip.enable(spark)
    return on, off


def assert_same_rows(df_of: Any, spark: SparkSession) -> int:
    """Skipping changes no result; returns the number of rows."""
    on, off = with_and_without(df_of, spark)
    assert repr(on) == repr(off)
    return len(on)


def index(
    spark: SparkSession, path: str, indexes: Iterable[Any], fmt: str = "parquet", **options: str
) -> xskip.SkippingIndex:
    """Makes an index and returns it."""
    made = xskip.SkippingIndex.for_path(spark, path, format=fmt, options=options)
    made.create(list(indexes))
    return made


def metadata(made: xskip.SkippingIndex) -> MetadataTable:
    """All that an index knows of its objects."""
    return opened(made.describe().location).load()


#: Files by day and hour, each of one row that both columns tell.
DAYS = {f"day=2026-01-0{d}/h={h}/d{d}h{h}": [(10 * d + h, f"s{d}")] for d in (1, 2, 3) for h in (1, 2)}


def by_days(spark: SparkSession, root: Path, fmt: str = "parquet") -> tuple[xskip.SkippingIndex, str]:
    """The files of ``DAYS`` under ``lake``, with an index of both columns; the dataset's path."""
    path = write_once(spark, root / "lake", "x int, s string", DAYS, fmt)
    made = xskip.SkippingIndex.for_path(spark, path, format=fmt)
    made.create([xskip.MinMax("x"), xskip.ValueList("s")])
    return made, path


def rows_of(made: xskip.SkippingIndex) -> list[str]:
    """The metadata, object by object."""
    table = metadata(made)
    columns = [table.objects.names, table.objects.modified, *(c.values for c in table.partitions.values())]
    columns += [table.indexes[key].values for key in sorted(table.indexes)]
    return sorted(map(str, zip(*(column.to_pylist() for column in columns), strict=True)))


def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories below which files are listed."""
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
    """Tables in the place of an index's own, each a file, as another program of a version would have left them."""
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
    """As :func:`write_files`, with one Spark job for all files that have rows."""
    full = {name: rows for name, rows in files.items() if rows}
    numbered = [(number, *row) for number, rows in enumerate(full.values()) for row in rows]
    staging = root.parent / f"{root.name}-staging-once"
    df = spark.createDataFrame(numbered, f"__file int, {schema}").coalesce(1)
    df.write.mode("overwrite").format(fmt).options(**(options or {})).partitionBy("__file").save(str(staging))
    for number, name in enumerate(full):
        _move_part(staging / f"__file={number}", root / f"{name}.{fmt}")
    shutil.rmtree(staging)
    return write_files(spark, root, schema, {name: rows for name, rows in files.items() if not rows}, fmt, options)


def opened_by_scan(df: DataFrame) -> list[set[str]]:
    """What each scan of a query reads, subqueries included, without adaptive execution; in the order of the plan."""
    with _planned(df) as plan:
        return [_files_of(scan) for scan in scans_of(plan)]


def scans_of(plan: Any) -> list[Any]:
    """The file scans of a physical plan: inside adaptive stages, commands, caches and subqueries too."""
    kind = plan.getClass().getSimpleName()
    if kind in ("FileSourceScanExec", "BatchScanExec"):
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
    """Spark's ``QueryExecutionListener``: keeps the executions."""

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
    """What each scan of the queries read that ``action()`` ran, by the plans that Spark executed."""
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


def matching_files(df: DataFrame, predicate: str) -> set[str]:
    """The base names, without extension, of the files that hold a matching row; skipping is off meanwhile."""
    spark = df.sparkSession
    xskip.disable(spark)
    try:
        found = df.filter(predicate).select(functions.input_file_name()).distinct().collect()
        return {_stem(unquote(row[0]).rpartition("/")[2]) for row in found}
    finally:
        xskip.enable(spark)


@contextmanager
def spoiled(paths: Iterable[Path]) -> Iterator[None]:
    """Files whose bytes cannot be read meanwhile, with the same lengths and times: only skipping them succeeds."""
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
    """Lets the only record of an index vouch for its files as they are now."""
    (record,) = (directory / "_commits").glob("*.json")
    body = json.loads(record.read_text())
    files = [
        {"name": f["name"], "rows": f["rows"], "size": (directory / f["name"]).stat().st_size} for f in body["files"]
    ]
    record.write_text(json.dumps({**body, "files": files}))
