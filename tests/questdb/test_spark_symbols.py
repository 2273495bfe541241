"""Filters on SYMBOL columns with a bitmap index, as Spark reads them [QDB-SP-10]."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.copies import copy_table
from tests.questdb.server import Server
from tests.questdb.spark_values import bytes_read, load

_ROWS = 100_000
_DAY = 86_400_000_000
_REFUSAL = "xskip cannot read"
#: The seconds in which a server writes, or the states of its table that are enough.
_SECONDS, _STATES = 15, 10


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


def create(server: Server, index: str) -> str:
    """Create a table with a day of many rows of two symbols, and a rare one in each twenty-thousandth row."""
    name = server.name("bitmap")
    server.exec(f"create table {name} (x long, s symbol {index}, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, insert(name, 0, _ROWS))
    return name


def insert(name: str, start: int, rows: int, rare: int = 20_000) -> str:
    value = f"case when x % {rare} = 7 then 'rare' when x % 3 = 0 then null else 'k' || x % 2 end"
    step = _DAY // (rows + 1)
    return f"insert into {name} select x, {value}, ({start} + x * {step})::timestamp from long_sequence({rows})"


def check(spark: SparkSession, server: Server, folder: Path, where: str) -> int:
    """Compare the rows of a filter with the server's, and return their number."""
    rows = load(spark, folder).where(where).select("x", "s", F.unix_micros("ts")).collect()
    name = folder.name.split("~")[0]
    assert sorted(map(list, rows)) == sorted(server.select(f"select x, s, ts::long from {name} where {where}"))
    return len(rows)


@pytest.mark.parametrize("index", ["index capacity 4", "index", ""])
def test_only_rows_near_those_with_the_symbol_are_read(spark: SparkSession, server: Server, index: str) -> None:
    """Of three columns, a few rows instead of those of all batches; without an index, all rows are read."""
    folder = server.folder(create(server, index))
    df = load(spark, folder)
    for where, rows in [("s = 'rare'", 5), ("s IN ('rare', 'none')", 5), ("s = 'rare' AND x > 30000", 3)]:
        assert check(spark, server, folder, where) == rows
        read = bytes_read(spark, df.where(where))
        assert read < 0.01 * 20 * _ROWS if index else read > 0.9 * 20 * _ROWS
    assert check(spark, server, folder, "s = 'rare' AND ts >= '1970-01-01T05:00:00.000000Z'") == 3
    assert check(spark, server, folder, "s = 'k1'") > 30_000
    assert check(spark, server, folder, "s IS NULL") > 30_000


def test_the_lives_of_indexes(spark: SparkSession, server: Server) -> None:
    """Late rows, splits, squashes, updates, columns and indexes that come late, and converted partitions."""
    name = create(server, "index capacity 16")
    folder = server.folder(name)
    values = f"x, 'k1', case when x % 9000 = 3 then 'rare' end, ({3 * _DAY + 80_000_000_000} + x)::timestamp"
    late_rows = f"select {values} from long_sequence(30000)"
    for statement in [
        insert(name, 5, 3, rare=8),
        f"insert into {name} select -x, 'rare', (x * 10 + 60000000000)::timestamp from long_sequence(10)",
        f"alter table {name} squash partitions",
        insert(name, 3 * _DAY, 50_000, rare=10_000),
        f"update {name} set s = 'rare' where x = 22222",
        f"update {name} set s = 'k1' where x = 40007",
        f"alter table {name} add column t symbol index capacity 8",
        f"insert into {name} (x, s, t, ts) {late_rows}",
        f"alter table {name} alter column s drop index",
        f"alter table {name} alter column s add index capacity 32",
        f"alter table {name} convert partition to parquet where ts < '1970-01-02'",
        f"alter table {name} convert partition to native where ts < '1970-01-02'",
    ]:
        server.run(name, statement)
        assert check(spark, server, folder, "s = 'rare'") > 4
        assert check(spark, server, folder, "s = 'rare' AND ts > '1970-01-01T12:00:00.000000Z'") > 1
    assert check(spark, server, folder, "t = 'rare'") == 4
    assert check(spark, server, folder, "t = 'rare' AND s = 'k1'") == 4
    assert check(spark, server, folder, "t = 'rare' AND s = 'rare'") == 0


def zero(start: int, length: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:start] + bytes(length) + content[start + length :]


@pytest.mark.parametrize(
    ("extension", "damage"),
    [
        ("k", None),
        ("v", None),
        ("k", lambda _: b""),
        ("k", lambda content: content[:70]),
        ("v", lambda content: content[:20]),
        ("k", zero(0, 64)),
        ("k", zero(64 + 32, 3 * 32)),
        ("k", zero(64 + 32 + 24, 4)),
        ("k", zero(17, 4)),
        ("v", lambda content: b"\xff" * len(content)),
    ],
)
def test_indexes_that_are_damaged(
    spark: SparkSession, server: Server, tmp_path: Path, extension: str, damage: Callable[[bytes], bytes] | None
) -> None:
    """The column itself is read instead."""
    folder = copy_table(server.folder(create(server, "index capacity 4")), tmp_path / "damaged")
    (path,) = folder.glob(f"*/s.{extension}")
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    rows = load(spark, folder).where("s = 'rare'").collect()
    assert sorted(row.x for row in rows) == [7, 20_007, 40_007, 60_007, 80_007]


def test_an_index_while_a_server_writes(spark: SparkSession, server: Server) -> None:
    """Of each transaction, all rows with the rare symbol are read: one of ten thousand."""
    name = server.name("busy")
    server.exec(
        f"create table {name} (x long, s symbol index capacity 4, ts timestamp) timestamp(ts) partition by day wal"
    )
    done, squashed = threading.Event(), []

    def write() -> None:
        chosen = random.Random(3)
        while not done.is_set():
            server.run(name, insert(name, chosen.randrange(_DAY // 4), 10_000, rare=10_000))
            time.sleep(0.1)
            if chosen.random() < 0.2:
                server.run(name, f"alter table {name} squash partitions")
                squashed.append(True)

    server.run(name, insert(name, 0, 10_000, rare=10_000))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        df, end = load(spark, server.folder(name)), time.monotonic() + _SECONDS
        states: set[int] = set()
        rare = df.where("s = 'rare'").select(F.lit(10_000).alias("n"))
        both = df.select(F.lit(-1).alias("n")).union(rare).agg(F.sum("n"), F.count("*"))
        while time.monotonic() < end and (len(states) < _STATES or not squashed):
            try:
                difference, count = both.select("*").collect()[0]
            except Exception as error:
                if _REFUSAL not in str(error):
                    raise
                continue
            assert difference == 0
            states.add(count)
    finally:
        done.set()
        writer.join()
    assert len(states) > 3
