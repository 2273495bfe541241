"""The scenarios of partitions of QuestDB on S3: a cold tier, and Parquet files as servers lay them out."""

from __future__ import annotations

import atexit
import tempfile
from contextlib import ExitStack
from datetime import datetime
from functools import cache
from pathlib import Path

from pyspark.sql import DataFrame

import xskip
import xskip.questdb
from tests.questdb.server import Server, running_server
from tests.s3.bucket import Bucket, conditional, scenario
from xskip import MinMax, PathBounds, SkippingIndex
from xskip.questdb import ExportOptions

DAYS = 5
_DAY = 86_400_000_000
#: The folders of days: those of a server's cold storage, and those of people who copy partitions.
LAYOUTS = {
    "trades~5/year={day:%Y}/month={day:%m}/day={day:%d}/data.parquet": (
        "year={ts:year}/month={ts:month}/day={ts:day}/data"
    ),
    "folders/{day:%Y-%m-%d}/data.parquet": "{ts:period}/data",
    "files/{day:%Y-%m-%d}.parquet": "{ts:period}",
}


@cache
def questdb() -> Server:
    """Return a server, which runs until the process ends."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(running_server(Path(tempfile.mkdtemp())))


def table() -> tuple[Server, str, Path]:
    """Return a server, the name of a new table with ten rows on each of five days, and the folder of the table."""
    server = questdb()
    name = server.name("trades")
    server.run(
        name,
        f"create table {name} (x long, s symbol, ts timestamp) timestamp(ts) partition by day wal",
        f"insert into {name} select x, 's' || x % 3, ((x - 1) * {_DAY // 10})::timestamp"
        f" from long_sequence({10 * DAYS})",
    )
    return server, name, server.folder(name)


def numbers(df: DataFrame) -> list[int]:
    return sorted(row.x for row in df.select("x").collect())


@conditional
def a_cold_tier(bucket: Bucket) -> None:
    """Check that exports and unions work where a rename is a copy, and that the index of the files skips."""
    server, name, folder = table()
    cold, options = f"s3a://{bucket.name}/a b/cold", ExportOptions(spark=bucket.spark)
    hot = xskip.questdb.open(folder)
    result = hot.export(datetime(1970, 1, 3), cold, indexes=[MinMax("x")], options=options)
    assert (len(result.partitions), result.rows) == (2, 20)
    union = xskip.questdb.union(hot, cold, spark=bucket.spark)
    every = list(range(1, 10 * DAYS + 1))
    assert numbers(union) == every
    server.run(name, result.drop_statement)
    assert numbers(union.where("x >= 0")) == every
    assert hot.export(datetime(1970, 1, 4), cold, options=options).rows == 10
    assert numbers(union.where("x > 0")) == every
    with bucket.server.order():
        assert numbers(union.where("x = 15")) == [15]
        read = {each.partition("day=")[2][:2] for each in bucket.server.seen() if "day=" in each and "GET" in each}
    assert read == {"02"}, "the index of the cold tier leaves out the files of other days"
    assert not bucket.server.keys(bucket.name, "announced")
    assert len(bucket.server.keys(bucket.name, "_questdb/")) >= 1


@scenario
def partitions_in_parquet(bucket: Bucket) -> None:
    """Check that times skip the Parquet files of partitions by their paths, without a request for another file."""
    server, name, folder = table()
    server.run(
        name,
        f"insert into {name} values (1000, 's', {DAYS * _DAY})",
        f"alter table {name} convert partition to parquet where ts < {DAYS * _DAY}",
    )
    for layout, pattern in LAYOUTS.items():
        root = f"s3a://{bucket.name}/{layout.partition('/')[0]}"
        for source in folder.glob("*/data.parquet"):
            key = layout.format(day=datetime.fromisoformat(source.parent.name.partition(".")[0]))
            bucket.server.put(bucket.name, key, source.read_bytes())
        if "year=" in layout:
            bucket.server.put(bucket.name, "trades~5/year=1970/month=01/day=02/_pm.a", b"control data")
        nested = {"recursiveFileLookup": "true"} if "folders" in layout else {}
        index = SkippingIndex.for_path(bucket.spark, root, format="parquet", options=nested)
        with bucket.server.order():
            index.create([PathBounds("ts", pattern)])
            read = {each for each in bucket.server.seen() if each.startswith("GET") and ".parquet?" in each}
            assert len(read) <= 1, f"Spark reads the schema of one file: {read}"
        df = bucket.spark.read.options(**nested).parquet(root)
        assert df.count() == 10 * DAYS
        third = f"ts >= timestamp_micros({2 * _DAY}) AND ts < timestamp_micros({3 * _DAY})"
        assert numbers(df.where(third)) == list(range(21, 31))
        assert xskip.last_report(bucket.spark).scans[0].skipped == DAYS - 1, layout
        assert numbers(df.where("ts < '1960-01-01'")) == []
        assert index.validate().wrong == ()
