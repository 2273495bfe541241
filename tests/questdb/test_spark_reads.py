"""What tasks of Spark read of the files of a table, how often, and what they refuse."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.server import Server
from tests.questdb.spark_values import load


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


def bytes_read(spark: SparkSession, df: DataFrame) -> int:
    """Return the bytes that a query reads."""
    statistics = spark._jvm.org.apache.hadoop.fs.FileSystem.getGlobalStorageStatistics().get("file")  # type: ignore[union-attr]
    before = int(statistics.getLong("bytesRead"))
    df.collect()
    return int(statistics.getLong("bytesRead")) - before


def sizes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern))


@pytest.mark.parametrize("kind", ["varchar", "string", "binary", "double[]"])
def test_entries_of_values_are_read_once(spark: SparkSession, server: Server, kind: str) -> None:
    """[QDB-RD-3]."""
    name = server.name("once")
    server.exec(f"create table {name} (v {kind}, ts timestamp) timestamp(ts) partition by year wal")
    value = {
        "varchar": "rnd_varchar(1, 20, 2)", "string": "rnd_str(1, 20, 2)", "binary": "rnd_bin(1, 20, 2)",
        "double[]": "rnd_double_array(1, 2, 0, 9)",
    }[kind]  # fmt: skip
    rows = 200_000
    server.run(name, f"insert into {name} select {value}, x::timestamp from long_sequence({rows})")
    df = load(spark, server.folder(name)).agg(F.count("v"))
    entry = 8 if kind in ("string", "binary") else 16
    assert bytes_read(spark, df) < sizes(server.folder(name), "*/v.d") + 1.5 * entry * rows


def with_symbols(server: Server, symbols: int) -> Path:
    """Return a table of five partitions, each of which has a fifth of the symbols."""
    name = server.name("symbols")
    server.exec(f"create table {name} (s symbol capacity 524288, ts timestamp) timestamp(ts) partition by day wal")
    server.run(
        name, f"insert into {name} select 'k' || x, (x * {5 * 86_400_000_000 // symbols})::timestamp"
        f" from long_sequence({symbols})",
    )  # fmt: skip
    return server.folder(name)


@pytest.mark.parametrize("symbols", [5_000, 300_000])
def test_symbols_are_read_once(spark: SparkSession, server: Server, symbols: int) -> None:
    """[QDB-SP-8]: also many symbols, and those for filters that match no row."""
    folder = with_symbols(server, symbols)
    df, content = load(spark, folder), sizes(folder, "s.c")
    assert df.filter("s = 'k7'").count() == 1
    assert bytes_read(spark, df.filter("s = 'k7'")) < content / 2 + 4 * symbols
    unknown = df.filter("s = 'none'")
    assert bytes_read(spark, unknown) < content / 2
    restored(folder, in_place=False)
    first = bytes_read(spark, unknown)
    assert content < first < 4 * content  # one or both tasks at a time
    assert bytes_read(spark, unknown) < content / 2


def restored(folder: Path, *, in_place: bool) -> None:
    """Give the symbols other values of the same sizes, as in a copy that takes the place of a table."""
    path = folder / "s.c"
    content = path.read_bytes().replace("k".encode("utf-16-le"), "é".encode("utf-16-le"))
    stat = path.stat()
    if not in_place:
        path.unlink()
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("in_place", [True, False])
def test_symbols_of_a_copy_in_the_same_place(
    spark: SparkSession, server: Server, tmp_path: Path, in_place: bool
) -> None:
    """[QDB-SP-8]: the numbers of the table are those of the one that was there before."""
    copy = shutil.copytree(with_symbols(server, 10), tmp_path / "copy")
    df = load(spark, copy)
    assert df.filter("s = 'k7'").count() == 1
    restored(copy, in_place=in_place)
    assert df.filter("s = 'é7'").count() == 1
    assert sorted(row.s for row in df.collect()) == sorted(f"é{i}" for i in range(1, 11))
