"""The records of cold tiers, and the tables that they are of. Rules: [QDB-CT]."""

from __future__ import annotations

import shutil
import struct
import time
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.questdb
from tests.questdb.copies import copy_table
from tests.questdb.server import Server
from tests.questdb.spark_values import load
from tests.questdb.tiers import ALWAYS, Tiers, counted
from xskip.errors import DatasetError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.questdb import ExportOptions
from xskip.questdb.export_rows import rows_in
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP
from xskip.questdb_files.database import place_of
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.sequencer_file import read_creation
from xskip.spark.questdb.cold_tier import ColdRecords, ColdTier


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession, interpreted: None) -> None:
    xskip.enable(spark)


@pytest.fixture
def tiers(spark: SparkSession, server: Server, tmp_path: Path) -> Tiers:
    return Tiers(spark, server, tmp_path / "cold")


def copied(tiers: Tiers, name: str, folder: Path, *, table_id: int, created: int | None) -> Path:
    """Return a copy of a table as another database has it, with an identifier and a time of creation."""
    copy = copy_table(tiers.server.folder(name), folder / "db" / name)
    meta, log = copy / "_meta", copy / "txn_seq" / "_txnlog"
    meta.write_bytes(meta.read_bytes()[:16] + struct.pack("<i", table_id) + meta.read_bytes()[20:])
    data = log.read_bytes()
    if created is None:
        shutil.rmtree(log.parent)
    else:
        log.write_bytes(data[:12] + struct.pack("<q", created) + data[20:])
    return copy


def refuse(tiers: Tiers, table: Path, match: str) -> None:
    with pytest.raises(DatasetError, match=match):
        xskip.questdb.union(table, str(tiers.cold), spark=tiers.spark)
    with pytest.raises(DatasetError, match=match):
        xskip.questdb.open(table).export(ALWAYS, str(tiers.cold), options=ExportOptions(spark=tiers.spark))


def test_a_table_of_another_database_with_the_same_identifier(tiers: Tiers, tmp_path: Path) -> None:
    """[QDB-CT-9], [QDB-FI-6]: the time of creation tells it apart; a copy of the table has the same one."""
    place = place_of(tiers.folder)
    created, table_id = read_creation(place), xskip.questdb.open(tiers.folder).snapshot().metadata.table_id
    assert created is not None
    assert 0 <= time.time() - created / 1e6 < 600
    tiers.export(datetime(1970, 1, 3))
    other = copied(tiers, tiers.name, tmp_path / "other", table_id=table_id, created=created - 1)
    refuse(tiers, other, r"partitions of another table.*found: table \d+ of 20\d\d-.*UTC")
    for name, time_of in (("same", created), ("old", 0), ("without", None)):
        copy = copied(tiers, tiers.name, tmp_path / name, table_id=table_id, created=time_of)
        assert counted(xskip.questdb.union(copy, str(tiers.cold), spark=tiers.spark)) == tiers.rows()


def test_a_table_with_other_columns_and_the_same_identifier(tiers: Tiers, tmp_path: Path) -> None:
    """[QDB-CT-9]: a column keeps its type, so that another one is a column of another table."""
    tiers.export(datetime(1970, 1, 3))
    table_id = xskip.questdb.open(tiers.folder).snapshot().metadata.table_id
    name = tiers.server.name("other")
    tiers.server.run(name, f"create table {name} (ts timestamp, x double, s symbol) timestamp(ts) partition by day wal")
    other = copied(tiers, name, tmp_path / "other", table_id=table_id, created=None)
    refuse(tiers, other, "partitions of another table")


def test_a_record_gets_the_time_of_creation(tiers: Tiers) -> None:
    """[QDB-CT-9]: a table without a write-ahead log has none, and can get a log later."""
    log = tiers.server.folder(tiers.name) / "txn_seq"
    hidden = log.rename(log.with_name("hidden"))
    try:
        tiers.export(datetime(1970, 1, 2))
    finally:
        hidden.rename(log)
    records = ColdRecords(LocalStorage(), f"file:{tiers.cold}")
    first = records.last()
    tiers.export(datetime(1970, 1, 3))
    second = records.last()
    assert first is not None
    assert second is not None
    assert (first.created, second.created) == (None, read_creation(place_of(tiers.folder)))


def test_the_size_of_samples(tiers: Tiers) -> None:
    """[QDB-CT-4], [QDB-CT-10]: few of the rows with equal times prove that the partition has all of them."""
    tiers.run(
        "insert into {t} select (86400000000 * 3 + (x % 20) * 1000)::timestamp, x, 'many' from long_sequence(10000)"
    )
    tiers.export(datetime(1970, 1, 5))
    (record,) = (tiers.cold / "_questdb").glob("*.json")
    assert record.stat().st_size < 20_000
    tier = ColdRecords(LocalStorage(), f"file:{tiers.cold}").last()
    assert tier is not None
    samples = {p.start: [len(sample.rows) for sample in p.samples] for p in tier.partitions}
    assert all(sum(counts) <= 64 and len(counts) <= 16 for counts in samples.values())
    assert max(samples[3 * 86_400_000_000]) == 4
    tiers.late(3, 50_000)
    assert counted(tiers.union()) == tiers.rows()


class CountedStorage(LocalStorage):
    """A storage that counts the files that are read."""

    reads = 0

    def read(self, path: str) -> bytes:
        self.reads += 1
        return super().read(path)


def test_a_record_is_read_once(tmp_path: Path) -> None:
    """[QDB-CT-10]: a record of the same name in a new cold tier is another one."""
    storage = CountedStorage()
    records = ColdRecords(storage, str(tmp_path))
    records.commit(ColdTier(1, 5, "parquet"))
    assert [records.last(), ColdRecords(storage, str(tmp_path)).last()] == [ColdTier(1, 5, "parquet")] * 2
    assert storage.reads == 1
    records.commit(ColdTier(2, 5, "parquet", created=7))
    assert records.last() == ColdTier(2, 5, "parquet", created=7)
    assert storage.reads == 2
    shutil.rmtree(tmp_path / "_questdb")
    records.commit(ColdTier(2, 555, "avro"))
    assert records.last() == ColdTier(2, 555, "avro")
    for number in range(3, 12):
        records.commit(ColdTier(number, 555, "avro"))
        assert records.last() == ColdTier(number, 555, "avro")


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_columns_that_get_the_names_of_folders(tiers: Tiers, file_format: str) -> None:
    """[QDB-CT-2], [QDB-CT-6], [QDB-CT-8]: all exports have folders of one form, which Spark and the index can read."""
    indexes = [xskip.MinMax("x")]
    tiers.export(datetime(1970, 1, 3), indexes, file_format=file_format)
    tiers.run(
        "alter table {t} add column year int",
        "alter table {t} add column column_year int",
        "alter table {t} rename column s to Month",
        "insert into {t} select (86400000000 * 2 + x)::timestamp, 5000 + x, 'm', x::int, -x::int "
        "from long_sequence(50)",
    )
    expected = tiers.rows()
    assert tiers.export(datetime(1970, 1, 5), file_format=file_format).rows == 20 * 2 + 50
    assert {path.name.partition("=")[0] for path in tiers.cold.glob("*=*")} == {"year"}
    assert xskip.SkippingIndex.for_path(tiers.spark, str(tiers.cold), format=file_format).status().up_to_date
    df = tiers.union()
    assert counted(df) == expected
    for condition, count in (("year = 7", 1), ("column_year < -40", 10), ("Month = 'm'", 50), ("x = 5007", 1)):
        assert df.where(condition).count() == count, condition
    cold = [scan for scan in xskip.last_report(tiers.spark).scans if str(tiers.cold) in scan.dataset]
    assert sum(scan.skipped for scan in cold) > 0
    tiers.run("alter table {t} drop partition list '1970-01-01', '1970-01-03'")
    assert counted(df) == counted(tiers.union()) == expected
    plain = tiers.spark.read.format(file_format).load(str(tiers.cold))
    assert plain.where("year = 1970 and month = 1").count() == plain.count() == 20 * 4 + 50


def test_more_ranges_than_a_plan_is_deep(spark: SparkSession) -> None:
    """[QDB-CT-1]: exported partitions can lie between all partitions that an export copies."""
    time_of = Column("ts", 0, NANOSECOND_TIMESTAMP, indexed=False, dedup_key=False, former=(), symbols=None)
    ranges = [(4 * i, 4 * i + 2) for i in range(1000)]
    df = rows_in(spark.range(0, 5_000, numPartitions=1).toDF("ts"), time_of, ranges)
    assert [row.ts for row in df.collect()] == [tick for start, end in ranges for tick in range(start, end)]


def test_partitions_between_exported_ones_are_not_read(tiers: Tiers) -> None:
    """[QDB-CT-1]."""
    table = xskip.questdb.open(tiers.folder)
    (time_of,) = (column for column in table.snapshot().metadata.columns if column.name == "ts")
    day = 86_400_000_000
    df = rows_in(load(tiers.spark, tiers.folder), time_of, [(0, day), (4 * day, 5 * day)])
    scan = df._jdf.queryExecution().executedPlan()
    assert len(df.collect()) == 40
    assert scan.collectLeaves().head().metrics().apply("numFiles").value() == 2
