"""Exports that fail, that run at the same time, and that move partitions while queries run. Rules: [QDB-CT]."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.effort import cases
from tests.questdb.server import Server
from tests.questdb.tiers import Tiers, counted
from xskip.errors import CommitConflictError, StorageError, TableDamagedError, TableVersionError
from xskip.metadatastore.filesystem import FileEntry, LocalStorage, PutInDoubtError

_SECONDS = 20
#: Enough days that moved, and numbers of rows that queries saw.
_MOVED = _SEEN = max(4, cases(8))


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession, interpreted: None) -> None:
    xskip.enable(spark)


@pytest.fixture
def tiers(spark: SparkSession, server: Server, tmp_path: Path) -> Tiers:
    return Tiers(spark, server, tmp_path / "cold")


def files_of(tiers: Tiers) -> set[str]:
    return {str(path.relative_to(tiers.cold)) for path in tiers.cold.rglob("*") if path.is_file()}


def given(storage: LocalStorage, *_: Any) -> LocalStorage:
    return storage


class FailingStorage(LocalStorage):
    """A storage whose operations fail from one of them on, or once."""

    def __init__(self, nth: int, error: StorageError, *, once: bool) -> None:
        self.left, self.error, self.once = nth, error, once
        self.calls = 0

    def _call(self) -> None:
        self.calls += 1
        self.left -= 1
        if self.left == 0 or (self.left < 0 and not self.once):
            raise self.error

    def list(self, directory: str) -> Sequence[FileEntry]:
        self._call()
        return super().list(directory)

    def read(self, path: str) -> bytes:
        self._call()
        return super().read(path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        if isinstance(self.error, PutInDoubtError):
            super().put_if_absent(path, data)
        self._call()
        return super().put_if_absent(path, data)

    def remove(self, paths: Iterable[str]) -> None:
        self._call()
        super().remove(paths)


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("kind", [StorageError, PutInDoubtError])
def test_a_storage_that_fails(
    tiers: Tiers, monkeypatch: pytest.MonkeyPatch, kind: type[StorageError], *, once: bool
) -> None:
    """[QDB-CT-3], [QDB-CT-7]: after a failure of any step, the export is committed or it is not."""
    expected = tiers.rows()
    tiers.export(datetime(1970, 1, 2))
    failures, nth = 0, 0
    while True:
        nth += 1
        storage = FailingStorage(nth, kind("the store fails"), once=once)
        with monkeypatch.context() as patched:
            patched.setattr("xskip.spark.questdb.tables.storage_for", partial(given, storage))
            try:
                tiers.export(datetime(1970, 1, 3))
            except StorageError:
                failures += 1
        assert counted(tiers.union()) == expected
        if storage.left > 0:
            break
    assert failures >= (1 if kind is PutInDoubtError else 5)
    tiers.export(datetime(1970, 1, 3))
    tiers.run("alter table {t} drop partition list '1970-01-01', '1970-01-02'")
    assert counted(tiers.union()) == expected


def test_what_a_failed_export_leaves(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-CT-7]: nothing, or what a later export removes."""
    tiers.export(datetime(1970, 1, 2))
    before = files_of(tiers)

    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("xskip.questdb.export.read_back", fail)
        with pytest.raises(KeyboardInterrupt):
            tiers.export(datetime(1970, 1, 3))
    assert files_of(tiers) == before
    with monkeypatch.context() as patched:
        patched.setattr("xskip.questdb.export.read_back", fail)
        patched.setattr("xskip.questdb.export_leftovers.Announcements._remove", fail)
        with pytest.raises(KeyboardInterrupt):
            tiers.export(datetime(1970, 1, 3))
    left = files_of(tiers) - before
    assert any(name.endswith(".parquet") for name in left)
    (announcement,) = tiers.cold.glob("_questdb/*.announced")
    tiers.export(datetime(1970, 1, 3))
    assert left <= files_of(tiers)
    week_ago = time.time() - 8 * 86_400
    os.utime(announcement, (week_ago, week_ago))
    tiers.export(datetime(1970, 1, 4))
    assert not left & files_of(tiers)
    assert counted(tiers.union()) == tiers.rows()


def test_replaced_files_are_removed(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-CT-7]: queries that began before an export can still read the files that it replaced."""
    tiers.export(datetime(1970, 1, 2))
    old = {name for name in files_of(tiers) if name.endswith(".parquet")}
    tiers.late(0, 1000)
    tiers.export(datetime(1970, 1, 2))
    assert old <= files_of(tiers)
    monkeypatch.setattr("xskip.questdb.export._UNREAD_MS", -1)
    tiers.export(datetime(1970, 1, 3))
    assert not old & files_of(tiers)
    assert counted(tiers.union()) == tiers.rows()


def test_two_exports(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-CT-3]: the one that commits later fails, and leaves nothing."""
    from xskip.questdb.export import Export

    commit = Export._commit
    during: list[set[str]] = []

    def after_another(self: Export, *arguments: Any) -> None:
        monkeypatch.setattr(Export, "_commit", commit)
        tiers.export(datetime(1970, 1, 2))
        during.append({name for name in files_of(tiers) if name.startswith("year=1970/month=01/day=02")})
        commit(self, *arguments)

    monkeypatch.setattr(Export, "_commit", after_another)
    with pytest.raises(CommitConflictError, match="another export has committed meanwhile"):
        tiers.export(datetime(1970, 1, 3))
    assert during[0]
    assert not during[0] & files_of(tiers)
    assert len([name for name in files_of(tiers) if name.endswith(".parquet")]) == 1
    assert counted(tiers.union()) == tiers.rows()


def test_a_server_changes_a_partition_during_its_export(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QDB-CT-3]: the partition is not committed, the others are."""
    from xskip.questdb.export_write import read_back

    def with_late_rows(*arguments: Any) -> Any:
        tiers.late(0, 1000)
        return read_back(*arguments)

    monkeypatch.setattr("xskip.questdb.export.read_back", with_late_rows)
    result = tiers.export(datetime(1970, 1, 3))
    assert (result.partitions, result.changed) == (("1970-01-02",), ("1970-01-01",))
    assert counted(tiers.union()) == tiers.rows()
    assert not list(tiers.cold.glob("year=1970/month=01/day=01/*.parquet"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", TableDamagedError),
        ("[]", TableDamagedError),
        ('{"version": 1}', TableDamagedError),
        ('{"version": 2}', TableVersionError),
    ],
)
def test_damaged_records(tiers: Tiers, text: str, error: type[Exception]) -> None:
    """[QDB-CT-3]."""
    tiers.export(datetime(1970, 1, 2))
    (tiers.cold / "_questdb" / "0000000002.json").write_text(text)
    with pytest.raises(error):
        tiers.export(datetime(1970, 1, 3))
    with pytest.raises(xskip.errors.DatasetError, match="record"):
        tiers.union()


def test_partitions_move_without_pause(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    """[QDB-CT-5]: while rows come late, and partitions are exported and dropped, each count is one of the table's."""
    tiers = Tiers(spark, server, tmp_path / "cold", rows=1000)
    df = tiers.union()
    written, failed, moved, stopped = [1000], [], [], threading.Event()

    def move() -> None:
        day = 2
        try:
            while not stopped.is_set() and day < 100:
                tiers.run(
                    f"insert into {{t}} select ({day + 3} * 86400000000 + 1000 * x)::timestamp, x, 'new' "
                    "from long_sequence(100)"
                )
                written.append(written[-1] + 100)
                tiers.late(day - 2, 1_000_000, count=7)
                written.append(written[-1] + 7)
                result = tiers.export(datetime.fromtimestamp(day * 86_400))
                if result.drop_statement:
                    tiers.run(result.drop_statement)
                    moved.append(day)
                day += 1
        except Exception as error:  # noqa: BLE001 - shown by the test
            failed.append(error)

    mover = threading.Thread(target=move)
    mover.start()
    end = time.monotonic() + _SECONDS
    counts: list[int] = []
    try:
        while time.monotonic() < end and mover.is_alive() and (len(moved) < _MOVED or len(set(counts)) < _SEEN):
            low = written[-1]
            try:
                found = df.where("x >= 0").count()
            except Exception as error:
                if "xskip cannot read" not in str(error):
                    raise
                continue
            counts.append(found)
            assert low <= found <= written[-1] + 107
            assert found in [*written, written[-1] + 100, written[-1] + 7]
    finally:
        stopped.set()
        mover.join()
    assert failed == []
    assert len(set(counts)) > 3
    assert len(moved) > 3
    assert df.where("x >= 0").count() == written[-1]
