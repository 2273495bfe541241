"""Exports of partitions, and the union of a table with them. Rules: [QDB-CT]."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
import xskip.questdb
from tests.questdb.server import COUNTS_SQUASHES, Server
from tests.questdb.spark_values import load, spark_rows
from tests.questdb.tables import create_with_all_types
from tests.questdb.tiers import ALWAYS, Tiers, counted
from xskip.questdb import ExportOptions
from xskip.questdb_files.database import place_of
from xskip.questdb_files.snapshot import read_snapshot


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@pytest.fixture
def tiers(spark: SparkSession, server: Server, tmp_path: Path) -> Tiers:
    return Tiers(spark, server, tmp_path / "cold")


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_all_types(spark: SparkSession, server: Server, tmp_path: Path, file_format: str) -> None:
    """[QDB-CT-1], [QDB-CT-2]."""
    name = server.name("types")
    create_with_all_types(server, name)
    folder = server.database / name
    expected = counted(load(spark, folder))
    table = xskip.questdb.open(folder)
    result = table.export(ALWAYS, str(tmp_path), format=file_format, options=ExportOptions(spark=spark))
    assert result.partitions == ("1970-01-01", "1970-01-02")
    assert result.rows == 401
    assert counted(xskip.questdb.union(folder, str(tmp_path), spark=spark)) == expected
    server.run(name, f"alter table {name} drop partition list '1970-01-01'")
    assert counted(xskip.questdb.union(table, str(tmp_path), spark=spark)) == expected


def test_partitions_move(tiers: Tiers) -> None:
    """[QDB-CT-5]: a DataFrame reads the same rows before an export, after it, and after partitions are dropped."""
    expected = tiers.rows()
    before = tiers.union()
    assert counted(before) == expected
    result = tiers.export(datetime(1970, 1, 3))
    assert result.partitions == ("1970-01-01", "1970-01-02")
    assert result.rows == 40
    assert counted(before) == counted(tiers.union()) == expected
    assert "1970-01-01" in result.drop_statement
    tiers.run(result.drop_statement)
    assert len(tiers.rows()) == 60
    assert counted(before) == counted(tiers.union()) == expected
    assert tiers.export(datetime(1970, 1, 3)).partitions == ()
    assert tiers.export(datetime(1970, 1, 4)).partitions == ("1970-01-03",)
    assert counted(before) == counted(tiers.union()) == expected


def test_rows_come_late(tiers: Tiers) -> None:
    """[QDB-CT-4]: rows that are merged into an exported partition, and rows that come after it was dropped."""
    tiers.export(datetime(1970, 1, 3))
    df = tiers.union()
    tiers.late(0, 1000)
    expected = tiers.rows()
    assert sum(expected.values()) == 103
    assert counted(df) == expected
    assert tiers.export(datetime(1970, 1, 3)).partitions == ("1970-01-01",)
    assert counted(df) == counted(tiers.union()) == expected
    tiers.run("alter table {t} drop partition list '1970-01-01', '1970-01-02'")
    tiers.late(1, 2000)
    with_late = expected + Counter(r for r in tiers.rows() if "late" in r and "20" in r)
    assert sum(with_late.values()) == 106
    assert counted(df) == with_late
    assert tiers.export(datetime(1970, 1, 3)).partitions == ("1970-01-02",)
    assert counted(df) == with_late
    tiers.late(1, 3000, count=30)
    assert sum(counted(df).values()) == 136
    tiers.export(datetime(1970, 1, 3))
    assert sum(counted(df).values()) == 136
    tiers.run("alter table {t} drop partition list '1970-01-02'")
    assert sum(counted(df).values()) == 136


def test_a_drop_leaves_other_partitions_exported(tiers: Tiers) -> None:
    """[QDB-CT-3], [QDB-SN-7]: it changes the truncate version of the table."""
    expected = tiers.rows()
    tiers.export(datetime(1970, 1, 4))
    before = read_snapshot(place_of(tiers.folder)).transaction.truncate_version
    tiers.run("alter table {t} drop partition list '1970-01-01'")
    snapshot = read_snapshot(place_of(tiers.folder))
    assert snapshot.transaction.truncate_version > before
    assert tiers.export(datetime(1970, 1, 4)).partitions == ()
    df = tiers.union()
    assert counted(df) == expected
    paths = {row.path for row in df.select(F.input_file_name().alias("path")).collect()}
    assert sum("year=" in path for path in paths) == 3


@pytest.mark.parametrize("count", [300, 3])
def test_rows_that_a_squash_replaces_in_place(spark: SparkSession, server: Server, tmp_path: Path, count: int) -> None:
    """[QDB-CT-3], [QDB-CT-4]: deduplication keeps the number of rows, and ``_txn`` of 9.3.0 does not tell it."""
    tiers = Tiers(spark, server, tmp_path / "cold", rows=40_000)
    tiers.run("alter table {t} dedup enable upsert keys(ts)")
    df = tiers.union()
    tiers.export(datetime(1970, 1, 2))
    record = read_snapshot(place_of(tiers.folder)).transaction.record(0)
    tiers.run(
        f"insert into {{t}} select ts, -x, s from {{t}} where ts >= 60000000000 and ts < 86400000000 limit {count}",
        "alter table {t} squash partitions",
    )
    expected_record = replace(record, squashes=record.squashes + COUNTS_SQUASHES)
    assert read_snapshot(place_of(tiers.folder)).transaction.record(0) == expected_record
    expected = tiers.rows()
    try:
        found = counted(df)
    except IllegalArgumentException as error:
        assert "its rows do not tell how" in str(error)  # noqa: PT017
        tiers.export(datetime(1970, 1, 2), changed="merged")
        found = counted(df)
    assert found == expected


def test_a_change_that_rows_do_not_tell(tiers: Tiers) -> None:
    """[QDB-CT-4]: after an update, equal rows prove no longer that the partition was not dropped and filled again."""
    df = tiers.union()
    tiers.export(datetime(1970, 1, 2))
    tiers.run("update {t} set x = x + 100000 where ts < '1970-01-02'")
    expected = tiers.rows()
    with pytest.raises(xskip.errors.DatasetError, match="its rows do not tell how"):
        tiers.union()
    with pytest.raises(IllegalArgumentException, match="its rows do not tell how"):
        df.count()
    with pytest.raises(xskip.errors.DatasetError, match='changed="merged" or changed="dropped"'):
        tiers.export(datetime(1970, 1, 2))
    with pytest.raises(xskip.errors.PredicateError, match="a change does not exist"):
        tiers.export(datetime(1970, 1, 2), changed="lost")
    assert tiers.export(datetime(1970, 1, 2), changed="merged").rows == 20
    assert counted(df) == counted(tiers.union()) == expected
    tiers.run("update {t} set x = x + 100000 where ts < '1970-01-02'")
    tiers.export(datetime(1970, 1, 2), changed="dropped")
    assert counted(df) == expected + Counter(r for r in tiers.rows() if r not in expected)


def test_the_index_of_a_cold_tier(tiers: Tiers) -> None:
    """[QDB-CT-6]: the first export creates the index, later ones add their files; unions skip by it and by time."""
    expected = tiers.rows()
    tiers.export(datetime(1970, 1, 3), [xskip.MinMax("x")])
    tiers.export(datetime(1970, 1, 5))
    assert xskip.SkippingIndex.for_path(tiers.spark, str(tiers.cold)).status().up_to_date
    df = tiers.union()
    assert counted(df) == expected
    assert counted(df.where("x = 30")) == Counter({row: n for row, n in expected.items() if ", 30," in row})
    cold = next(scan for scan in xskip.last_report(tiers.spark).scans if str(tiers.cold) in scan.dataset)
    assert (cold.files, cold.kept) == (4, 1)
    day = df.where("ts >= '1970-01-02T00:00:00Z' and ts < '1970-01-03T00:00:00Z'")
    of_day = Counter(map(repr, [r for r in spark_rows(df) if 86_400_000_000 <= r[0] < 172_800_000_000]))
    assert counted(day) == of_day
    cold = next(scan for scan in xskip.last_report(tiers.spark).scans if str(tiers.cold) in scan.dataset)
    assert cold.files == 1


def test_files_have_the_order_of_the_table(tiers: Tiers) -> None:
    """[QDB-CT-2]: rows of equal times stay in their order, statistics and Bloom filters are there."""
    tiers.run("insert into {t} select '1970-01-01T10:00:00Z', x, 'tie' from long_sequence(5000)")
    tiers.export(
        datetime(1970, 1, 2), bloom_filters=["s"], writer={"compression": "zstd", "parquet.enable.dictionary": "false"}
    )
    (path,) = tiers.cold.glob("year=1970/month=01/day=01/*.parquet")
    rows = pq.ParquetFile(path)
    assert rows.read(["x", "ts"]).to_pylist() == [
        {"x": row["x"], "ts": row["ts"]}
        for row in xskip.questdb.open(tiers.folder).to_arrow(["x", "ts"], None, datetime(1970, 1, 2)).to_pylist()
    ]
    column = rows.metadata.row_group(0).column(0)
    assert column.statistics.has_min_max
    assert (column.compression, column.physical_type) == ("ZSTD", "INT64")
    assert columns_with_bloom_filters(tiers.spark, path) == {"s"}


def columns_with_bloom_filters(spark: SparkSession, path: Path) -> set[str]:
    hadoop: Any = spark._jvm.org.apache.hadoop  # type: ignore[union-attr]
    parquet: Any = spark._jvm.org.apache.parquet.hadoop  # type: ignore[union-attr]
    file = parquet.util.HadoopInputFile.fromPath(
        hadoop.fs.Path(str(path)), spark._jsparkSession.sessionState().newHadoopConf()
    )
    reader = parquet.ParquetFileReader.open(file)
    columns = reader.getFooter().getBlocks().get(0).getColumns()
    reader.close()
    return {column.getPath().toDotString() for column in columns if column.getBloomFilterOffset() >= 0}


def test_what_an_export_refuses(tiers: Tiers, server: Server, tmp_path: Path) -> None:
    """[QDB-CT-1], [QDB-CT-3]."""
    table = xskip.questdb.open(tiers.folder)
    options = ExportOptions(spark=tiers.spark)
    with pytest.raises(xskip.errors.DatasetError, match="format of an export does not exist"):
        table.export("0d", str(tiers.cold), format="orc", options=options)
    with pytest.raises(xskip.errors.PredicateError, match='such as "30d"'):
        table.export("a month", str(tiers.cold), options=options)
    with pytest.raises(xskip.errors.PredicateError, match="no column with this name"):
        tiers.export(bloom_filters=["nothing"])
    with pytest.raises(xskip.errors.DatasetError, match="only Parquet files have Bloom filters"):
        table.export("0d", str(tiers.cold), format="avro", options=replace(options, bloom_filters=["s"]))
    assert tiers.export("1d").rows == 100
    with pytest.raises(xskip.errors.DatasetError, match="exports in another format"):
        table.export("0d", str(tiers.cold), format="avro", options=options)
    other = server.name("other")
    server.run(other, f"create table {other} (ts timestamp, x long) timestamp(ts) partition by day wal")
    with pytest.raises(xskip.errors.DatasetError, match="partitions of another table"):
        xskip.questdb.open(server.database / other).export("0d", str(tiers.cold), options=options)
    with pytest.raises(xskip.errors.DatasetError, match="partitions of another table"):
        xskip.questdb.union(server.database / other, str(tiers.cold), spark=tiers.spark)
    whole = server.name("whole")
    server.run(whole, f"create table {whole} (ts timestamp, x long) timestamp(ts)")
    with pytest.raises(xskip.errors.DatasetError, match="a table without partitions cannot have a cold tier"):
        xskip.questdb.open(server.database / whole).export("0d", str(tmp_path / "w"), options=options)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("unit", ["hour", "day", "week", "month", "year"])
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ns"])
def test_units(spark: SparkSession, server: Server, tmp_path: Path, unit: str, kind: str) -> None:
    """[QDB-CT-2]: the folders of all units, also of a table with a column of such a name."""
    name = server.name("units")
    ticks = 1 if kind == "timestamp" else 1000
    server.run(
        name,
        f"create table {name} (ts {kind}, day int, year symbol) timestamp(ts) partition by {unit} wal",
        f"insert into {name} select ((x * 40 + 15000) * 3600000000L * {ticks} - 1)::{kind}, x::int, 'y' "
        "from long_sequence(75)",
    )
    expected = counted(load(spark, server.database / name))
    table = xskip.questdb.open(server.database / name)
    result = table.export("1d", str(tmp_path), options=ExportOptions(spark=spark))
    assert result.rows == 75
    server.run(name, result.drop_statement)
    assert sum(counted(load(spark, server.database / name)).values()) == 0
    union = xskip.questdb.union(table, str(tmp_path), spark=spark)
    assert counted(union) == expected
    assert {path.name.partition("=")[0] for path in tmp_path.glob("*=*")} == {"partition_year"}
