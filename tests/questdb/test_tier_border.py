"""The border between a table and its cold tier: copies, partitions that come back, exports that meet [QDB-CT]."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.questdb
from tests.questdb.copies import copy_table
from tests.questdb.server import Server
from tests.questdb.tiers import ALWAYS, Tiers, counted
from xskip.errors import CommitConflictError, DatasetError, PredicateError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.questdb import ExportOptions, export
from xskip.questdb.export import Export
from xskip.questdb.export_leftovers import Announcements
from xskip.questdb_files.database import place_of
from xskip.spark.questdb import tables
from xskip.spark.questdb.cold_tier import ColdRecords, ColdTier


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@pytest.fixture
def tiers(spark: SparkSession, server: Server, tmp_path: Path) -> Tiers:
    return Tiers(spark, server, tmp_path / "cold")


def first(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, action: Callable[[], None]) -> None:
    """Run an action before the first call of a function."""
    plain = getattr(target, name)

    def patched(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(target, name, plain)
        action()
        return plain(*arguments, **named)

    monkeypatch.setattr(target, name, patched)


def test_a_former_copy_of_a_table(tiers: Tiers, tmp_path: Path) -> None:
    """[QDB-CT-4]: a partition that has some of the exported rows was not dropped."""
    copy = copy_table(tiers.server.folder(tiers.name), tmp_path / "copy")
    tiers.late(0, 1000)
    tiers.export(datetime(1970, 1, 3))
    with pytest.raises(DatasetError, match="its rows do not tell how"):
        xskip.questdb.union(copy, str(tiers.cold), spark=tiers.spark)


def test_a_partition_comes_back(tiers: Tiers) -> None:
    """[QDB-CT-4]: also if the table was exported while it did not have the partition."""
    expected = tiers.rows()
    df = tiers.union()
    tiers.export(datetime(1970, 1, 3))
    tiers.run("alter table {t} detach partition list '1970-01-01'")
    assert counted(df) == expected
    tiers.export(datetime(1970, 1, 4))
    (detached,) = tiers.server.folder(tiers.name).glob("1970-01-01*.detached")
    detached.rename(detached.with_name("1970-01-01.attachable"))
    tiers.run("alter table {t} attach partition list '1970-01-01'")
    assert tiers.rows() == expected
    assert counted(df) == expected
    tiers.export(datetime(1970, 1, 4))
    assert counted(df) == counted(tiers.union()) == expected
    tiers.run("alter table {t} drop partition list '1970-01-01'")
    assert counted(df) == expected


def test_late_rows_during_an_export_are_not_dropped(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement names no partition with rows that are not exported."""
    tiers.export(datetime(1970, 1, 2))

    def late() -> None:
        tiers.server.exec("checkpoint create")  # the server keeps the former folders
        tiers.late(0, 1000)
        tiers.late(1, 2000)

    first(monkeypatch, Export, "_commit", late)
    try:
        result = tiers.export(datetime(1970, 1, 4))
    finally:
        tiers.server.exec("checkpoint release")
    expected = tiers.rows()
    assert result.partitions == ("1970-01-02", "1970-01-03")
    assert result.drop_statement.endswith("DROP PARTITION LIST '1970-01-03';")
    tiers.run(result.drop_statement)
    assert counted(tiers.union()) == expected


def append_and_export(tiers: Tiers) -> None:
    """Append a row to the last partition, and export it. The server only appends to files."""
    count = sum(tiers.rows().values())
    tiers.run(f"insert into {{t}} values ({432_000_000_000 + count}, {count}, 'new')")
    tiers.export(ALWAYS)


def test_an_export_between_the_transaction_and_the_record(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-CT-5]: a union reads no transaction with the record of a later one."""
    append_and_export(tiers)
    records = ColdRecords(LocalStorage(), f"file:{tiers.cold}")
    first(monkeypatch, tables, "_cold", lambda: append_and_export(tiers))
    request = {"fingerprint": "", "record": 1, "frozen": False}
    answer = tables._described(place_of(tiers.folder), records, request)
    assert answer is not None
    (length,) = struct.unpack_from("<i", answer, 1)
    header = json.loads(answer[5 : 5 + length])
    assert (header["cold"]["number"], len(header["cold"]["files"]), header["pieces"]) == (2, 6, 0)


def test_an_export_between_the_transaction_and_the_record_of_another(
    tiers: Tiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QDB-CT-4]: an export compares no transaction with the record of a later one."""
    append_and_export(tiers)
    first(monkeypatch, Export, "_tier", lambda: append_and_export(tiers))
    tiers.export(ALWAYS)
    tiers.run("insert into {t} values (431000000000, -1, 'late')")
    assert counted(tiers.union()) == tiers.rows()


def test_columns_exchange_their_names_during_an_export(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-CT-3], [QDB-CT-8]: the record has the names that the files have, or it has no files."""
    names = [("x", "tmp"), ("z", "x"), ("tmp", "z")]
    tiers.run("alter table {t} add column z long")
    statements = [f"alter table {{t}} rename column {old} to {new}" for old, new in names]
    first(monkeypatch, export, "export_plan", lambda: tiers.run(*statements))
    assert tiers.export(datetime(1970, 1, 3)).partitions == ()
    expected = tiers.rows()
    assert counted(tiers.union()) == expected
    assert tiers.export(datetime(1970, 1, 3)).rows == 40
    tiers.run("alter table {t} drop partition list '1970-01-01', '1970-01-02'")
    assert counted(tiers.union()) == expected


def test_a_commit_after_many_others(tmp_path: Path) -> None:
    """[QDB-CT-3]: records are removed, and their numbers are not free."""
    records = ColdRecords(LocalStorage(), str(tmp_path))
    for number in range(1, 15):
        records.commit(ColdTier(number, 1, "parquet"))
    with pytest.raises(CommitConflictError, match="another export has committed"):
        records.commit(ColdTier(2, 1, "avro"))
    last = records.last()
    assert last is not None
    assert last.number == 14


class EmptiedStorage(LocalStorage):
    """A storage whose files another process removes after they were listed."""

    def read(self, path: str) -> bytes:
        raise FileNotFoundError(path)


def test_two_exports_remove_what_a_third_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-CT-7]."""
    monkeypatch.setattr("xskip.questdb.export_leftovers._ENDED_MS", -1_000)
    (tmp_path / "_questdb").mkdir()
    (tmp_path / "_questdb" / "0123.announced").write_text("[]")
    Announcements(ColdRecords(EmptiedStorage(), str(tmp_path))).remove_ended()
    assert (tmp_path / "_questdb" / "0123.announced").exists()


@pytest.mark.parametrize("age", ["99999999999d", "999999d", timedelta.max])
def test_ages_before_all_times(tiers: Tiers, age: Any) -> None:
    """[QDB-CT-1]."""
    with pytest.raises(PredicateError, match="the age of partitions is not a duration"):
        tiers.export(age)


def test_a_cold_tier_beside_the_tables_of_a_server(tiers: Tiers) -> None:
    """[QDB-SP-7]: xskip never writes into the folder of a database."""
    for folder in (tiers.folder, tiers.server.database, tiers.folder / "cold"):
        before, table = _paths(folder), _paths(tiers.folder)
        with pytest.raises(DatasetError, match="cold tier cannot be in the folder"):
            xskip.questdb.open(tiers.folder).export(ALWAYS, str(folder), options=ExportOptions(spark=tiers.spark))
        assert _paths(folder) <= before  # the server removes what other tables no longer need at any time
        assert _paths(tiers.folder) == table


def _paths(folder: Path) -> set[str]:
    """Return the paths below a folder; unlike ``rglob``, ``os.walk`` allows that folders go away meanwhile."""
    return {os.path.join(root, name) for root, folders, files in os.walk(folder) for name in [*folders, *files]}
