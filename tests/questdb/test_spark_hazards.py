"""Hazards for rows and tables that Spark reads: overwrites, renames, and transactions between two scans."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.copies import copy_table
from tests.questdb.damages import patch
from tests.questdb.server import Server
from tests.questdb.spark_values import check_spark, load
from tests.questdb.tables import create_numbers
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP
from xskip.questdb_files.database import place_of
from xskip.questdb_files.metadata_file import Column, Metadata
from xskip.questdb_files.partition_names import Clock, PartitionUnit
from xskip.questdb_files.pieces import Pieces
from xskip.questdb_files.snapshot import read_snapshot
from xskip.questdb_files.transaction_file import Transaction
from xskip.spark.questdb.description import pack


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_no_command_overwrites_a_table(spark: SparkSession, server: Server, mode: str) -> None:
    """[QDB-SP-7]: views and tables of the catalog, with SQL and with writers of DataFrames."""
    name = create_numbers(server, "hazard")
    folder = server.folder(name)
    before = sorted(path for path in folder.rglob("*"))
    load(spark, folder).createOrReplaceTempView("a_view")
    rows = spark.createDataFrame([(1, 0)], "x BIGINT, micros BIGINT").selectExpr("x", "timestamp_micros(micros) AS ts")
    rows.createOrReplaceTempView("staging")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    spark.sql(f"CREATE TABLE a_table USING questdb OPTIONS (path '{folder}')")
    try:
        for target in ("a_view", "a_table"):
            for way in ("OVERWRITE", "INTO"):
                with pytest.raises(Exception, match=r"(?i)questdb"):
                    spark.sql(f"INSERT {way} {target} SELECT * FROM staging")
            with pytest.raises(Exception, match=r"(?i)questdb"):
                rows.write.insertInto(target, overwrite=True)
        spark.catalog.refreshTable("a_table")
    finally:
        spark.sql("DROP TABLE a_table")
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert sorted(path for path in folder.rglob("*")) == before
    check_spark(spark, folder)


def test_tables_that_a_query_loads_twice(spark: SparkSession, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-SP-3]: both scans read one transaction, although one comes between them."""
    name = create_numbers(server, "hazard")
    folder = server.folder(name)
    first, second = load(spark, folder), load(spark, folder)
    answers = []

    def pack_and_insert(*args: object, **kwargs: bool) -> bytes:
        answers.append(pack(*args, **kwargs))  # type: ignore[arg-type]
        server.run(name, f"insert into {name} values ({len(answers)}, '1970-01-09')")
        return answers[-1]

    server.run(name, f"insert into {name} values (0, '1970-01-09')")
    monkeypatch.setattr("xskip.spark.questdb.tables.pack", pack_and_insert)
    monkeypatch.setattr("xskip.questdb_files.snapshot.Snapshot.is_current", lambda _: True)
    counts = first.agg(F.count("*")).union(second.agg(F.count("*"))).collect()
    assert counts[0] == counts[1]
    assert len(answers) == 1


def test_the_designated_timestamp_gets_the_name_of_another_column(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-5]: a filter on a name concerns the column that has the name in the transaction of the query."""
    name = create_numbers(server, "hazard", columns="x long, ts timestamp, made timestamp")
    df = load(spark, server.database / name)
    condition = "ts > '1970-01-03'"
    assert df.filter(condition).count() == 300
    columns = "x long, ts timestamp, made timestamp"
    server.exec(f"drop table {name}", f"create table {name} ({columns}) timestamp(made) partition by day wal")
    server.run(name, f"insert into {name} select x, x * 1000, (x * 864000000L)::timestamp from long_sequence(500)")
    assert df.filter(condition).count() == 0
    assert df.filter("ts <= '1970-01-03'").count() == 500
    assert df.filter("made > '1970-01-03'").count() == 300


def test_an_index_notices_columns_that_swap_their_names(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-6]."""
    name = create_numbers(server, "hazard", columns="x long, ts timestamp, made timestamp")
    server.run(name, f"alter table {name} add column y long", f"update {name} set y = -x where x > 0")
    index = xskip.SkippingIndex.for_path(spark, str(server.folder(name)), format="questdb")
    index.create([xskip.MinMax("x"), xskip.MinMax("y")])
    server.run(name, *(f"alter table {name} rename column {a} to {b}" for a, b in (("x", "z"), ("y", "x"), ("z", "y"))))
    df = load(spark, server.database / name)
    assert df.filter("x = -7").count() == df.filter("y = 7").count() == 1
    index.refresh()
    assert df.filter("x = -7").count() == df.filter("y = 7").count() == 1
    assert xskip.last_report(spark).scans[0].skipped == 5


@pytest.mark.parametrize("unit", [unit for unit in PartitionUnit if unit is not PartitionUnit.NONE])
def test_the_last_partition_of_nanoseconds_has_no_end(unit: PartitionUnit) -> None:
    """[QDB-PN-3]: its end lies after all numbers of 64 bits."""
    clock, greatest = Clock(unit, 1_000_000_000), int(np.iinfo(np.int64).max)
    start = clock.floor(greatest - 10)
    entries = np.array([[start, 2, -1, -1]], np.int64)
    times = Transaction(1, 2, 2, start, greatest - 5, 0, 0, 0, 0, 0, 0, (), entries)
    timestamp = Column("ts", 0, NANOSECOND_TIMESTAMP, indexed=False, dedup_key=False, former=(), symbols=None)
    metadata = Metadata((timestamp,), (NANOSECOND_TIMESTAMP,), clock, timestamp, 1, 0, wal=True)
    pieces = Pieces(Path("/t"), metadata, times)
    assert [piece.rows for piece in pieces.overlapping(greatest - 7, None)] == [2]
    assert list(pieces.overlapping(greatest - 4, None)) == []
    assert list(pieces.overlapping(None, start)) == []


def test_a_table_of_another_history_takes_the_place(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """[QDB-SP-3] After a backup was restored and written to, the number of a transaction comes a second time."""
    folder = tmp_path / "restored"
    first, second = (server.folder(create_numbers(server, "history", rows=rows)) for rows in (500, 320))
    copy_table(first, folder)
    df = load(spark, folder)
    assert df.count() == 500
    shutil.rmtree(folder)
    copy_table(second, folder)
    patch(folder / "_meta", 16, (first / "_meta").read_bytes()[16:20])
    assert read_snapshot(place_of(folder)).txn == read_snapshot(place_of(first)).txn
    assert sorted(row.x for row in df.select("x").collect()) == list(range(1, 321))


def test_a_missing_file_closes_those_that_are_open(spark: SparkSession, server: Server) -> None:
    """[QDB-SP-4], [QDB-RD-3]."""
    name = create_numbers(server, "hazard")
    folder = server.folder(name)
    df = load(spark, folder)
    assert df.count() == 500
    (folder / "1970-01-03" / "x.d").unlink()
    java = spark.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    for _ in range(10):
        with pytest.raises(Exception, match=r"x\.d does not exist.*CHECKPOINT"):
            df.agg(F.sum("x"), F.max("ts")).collect()
    handles = [handle.resolve() for handle in Path(f"/proc/{java}/fd").iterdir() if handle.exists()]
    assert [handle for handle in handles if folder in handle.parents] == []
