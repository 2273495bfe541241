"""Indexes in use: opened, registered, checked, evicted. No Spark needed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.metadatastore.samples import numbered_table, put_foreign
from tests.spark.query.fakes import FakeHook, put_index
from xskip.engine import loaded_indexes
from xskip.engine.loaded_indexes import LoadedIndex, LoadedIndexes
from xskip.engine.warning_log import WarningLog
from xskip.errors import MetadataCorruptError, StorageError, XskipError
from xskip.spark.query.spark_engine import SparkPlatform

MANY = 1_000_000


@pytest.fixture
def fake() -> FakeHook:
    return FakeHook()


@pytest.fixture
def indexes(fake: FakeHook) -> LoadedIndexes:
    return LoadedIndexes(SparkPlatform(fake.hook), WarningLog())


@pytest.fixture(autouse=True)
def _level(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "xskip"):
        yield


def loaded(indexes: LoadedIndexes, directory: str) -> LoadedIndex:
    index = indexes.load(directory, MANY)
    assert index is not None
    return index


def test_an_index_is_loaded_and_registered_once(tmp_path: Path, fake: FakeHook, indexes: LoadedIndexes) -> None:
    directory = put_index(tmp_path / "md", 0, 3)
    first = loaded(indexes, directory)
    assert (first.directory, first.snapshot.rows, first.is_registered) == (directory, 3, True)
    assert fake.tokens == {directory: first.token}
    fake.tokens.clear()
    assert loaded(indexes, directory) is first
    assert fake.tokens == {}
    assert indexes.directories() == [directory]


def test_a_directory_without_an_index(tmp_path: Path, fake: FakeHook, indexes: LoadedIndexes) -> None:
    assert indexes.load(str(tmp_path), MANY) is None
    assert indexes.snapshot(str(tmp_path)) is None
    assert (fake.tokens, indexes.directories()) == ({}, [])


def test_a_commit_gives_another_snapshot_with_another_token(
    tmp_path: Path, fake: FakeHook, indexes: LoadedIndexes
) -> None:
    first = loaded(indexes, put_index(tmp_path / "md", 0, 3))
    second = loaded(indexes, put_index(tmp_path / "md", 0, 4))
    assert (first.snapshot.rows, second.snapshot.rows) == (3, 4)
    assert second.token > first.token
    assert fake.tokens == {second.directory: second.token}
    assert second.decisions is not first.decisions


def test_between_checks_a_stale_snapshot_counts(
    tmp_path: Path, indexes: LoadedIndexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_indexes, "_RECHECK_LOCAL_SECONDS", 1000.0)
    first = loaded(indexes, put_index(tmp_path / "md", 0, 3))
    directory = put_index(tmp_path / "md", 0, 4)
    assert loaded(indexes, directory) is first
    assert indexes.snapshot(directory) != (first.snapshot, first.token)  # a build looks at once


def test_a_dropped_index_is_unregistered(tmp_path: Path, fake: FakeHook, indexes: LoadedIndexes) -> None:
    directory = put_index(tmp_path / "md", 0, 3)
    loaded(indexes, directory)
    (tmp_path / "md").rename(tmp_path / "away")
    assert indexes.load(directory, MANY) is None
    assert (fake.tokens, indexes.directories()) == ({}, [])


def test_the_index_that_was_checked_first_is_evicted(
    tmp_path: Path, fake: FakeHook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_indexes, "_MAX_INDEXES", 2)
    indexes = LoadedIndexes(SparkPlatform(fake.hook), WarningLog())
    a, b, c = (put_index(tmp_path / name, 0, 1) for name in "abc")
    for directory in (a, b, a, c):
        loaded(indexes, directory)
    assert indexes.directories() == [a, c]
    assert fake.tokens.keys() == {a, c}
    assert loaded(indexes, b).is_registered
    assert fake.tokens.keys() == {b, c}


def test_a_forgotten_index_is_opened_again(tmp_path: Path, fake: FakeHook, indexes: LoadedIndexes) -> None:
    directory = put_index(tmp_path / "md", 0, 3)
    first = loaded(indexes, directory)
    indexes.forget(directory)
    assert (fake.tokens, fake.forgotten, indexes.directories()) == ({}, 1, [])
    second = loaded(indexes, directory)
    assert second.snapshot is not first.snapshot
    assert fake.tokens == {directory: second.token}


def test_a_damaged_index_is_not_opened_until_its_directory_changes(tmp_path: Path, indexes: LoadedIndexes) -> None:
    """[MDS-D-6]"""
    directory = put_index(tmp_path / "md", 0, 3)
    loaded(indexes, directory)
    indexes.discard_unreadable(directory, KeyError("k"))
    assert indexes.directories() == [directory]
    indexes.discard_unreadable(directory, MetadataCorruptError("it is damaged"))
    assert indexes.directories() == []
    for _ in range(2):
        with pytest.raises(MetadataCorruptError, match="it is damaged"):
            indexes.load(directory, MANY)
    put_index(tmp_path / "md", 0, 4)
    assert loaded(indexes, directory).snapshot.rows == 4


def test_a_remote_directory_that_fails_is_not_read_again_at_once(
    indexes: LoadedIndexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def fail(_: object, directory: str) -> None:
        attempts.append(directory)
        raise StorageError(f"attempt {len(attempts)} failed")

    monkeypatch.setattr(SparkPlatform, "storage", fail)
    for directory, failures in (("s3a://b/md", ["attempt 1", "attempt 1"]), ("/md", ["attempt 2", "attempt 3"])):
        for failure in failures:
            with pytest.raises(XskipError, match=f"{failure} failed"):
                indexes.load(directory, MANY)
    indexes.forget("s3a://b/md")
    with pytest.raises(XskipError, match="attempt 4 failed"):
        indexes.load("s3a://b/md", MANY)


def test_only_large_indexes_are_for_jobs(tmp_path: Path, indexes: LoadedIndexes) -> None:
    index = loaded(indexes, put_index(tmp_path / "md", 0, 3))
    assert not indexes.is_for_job(index, 3)
    assert indexes.is_for_job(index, 2)


def test_a_large_index_that_jobs_cannot_prune_is_logged_once(
    tmp_path: Path, fake: FakeHook, indexes: LoadedIndexes, caplog: pytest.LogCaptureFixture
) -> None:
    """[PRU-JB-6]"""
    put_foreign(tmp_path / "md", [numbered_table(0, 3)])
    index = indexes.load(str(tmp_path / "md"), 2)
    assert index is not None
    assert not indexes.is_for_job(index, 2)
    assert fake.tokens == {index.directory: index.token}
    (message,) = caplog.messages
    assert message.startswith(f"the driver prunes 3 files by the metadata in {index.directory}: another program has")


def test_indexes_are_listed_by_use_or_by_base(
    tmp_path: Path, indexes: LoadedIndexes, caplog: pytest.LogCaptureFixture
) -> None:
    used, changed, other = (put_index(tmp_path / "base" / name, 0, 1) for name in ("used", "changed", "other"))
    loaded(indexes, used)
    indexes.forget(changed)
    assert [directory for _, directory in indexes.list_snapshots(None)] == [used, changed]
    (record,) = (Path(changed) / "_commits").iterdir()
    record.write_bytes(b"{")
    listed = indexes.list_snapshots(str(tmp_path / "base"))
    assert {directory for _, directory in listed} == {used, other}
    (message,) = caplog.messages
    assert message.startswith(f"xskip ignores the index in {changed}: ")
