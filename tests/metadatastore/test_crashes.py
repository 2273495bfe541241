"""A writer can crash at any moment, and readers can read meanwhile. Rules: specs/metadatastore.rst, [MDS-C]."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers import Counted
from tests.metadatastore.samples import (
    FOREIGN,
    Crash,
    FaultyStorage,
    commit,
    expected_rows,
    numbered_table,
    put_foreign,
    read_rows,
    refresh,
    replace_all,
    rows_of,
)
from xskip.metadatastore.commit import find_live, new_file_name
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.snapshot import open_snapshot

DISK = LocalStorage()
MODES = {
    "killed before": {"after": False, "dead": True},
    "killed after": {"after": True, "dead": True},
    "error before": {"after": False, "dead": False},
    "error after": {"after": True, "dead": False},
}


def new_files(md: str) -> int:
    return len([p for p in Path(md).glob("*.parquet") if p.is_file()]) if Path(md).exists() else 0


def calls_of_a_create(tmp_path: Path) -> int:
    counting = FaultyStorage(0)
    counting._dead = False
    leave_over(tmp_path / "count")
    commit(counting, str(tmp_path / "count"), tmp_path / "s", [numbered_table(0, 2), numbered_table(2, 4)])
    return counting.calls


def leave_over(md: Path) -> None:
    """Leave a file of a crashed writer, so that a commit has something to clean up."""
    md.mkdir()
    (md / new_file_name(0)).touch()


@pytest.mark.parametrize("mode", MODES)
def test_create_that_crashes(mode: str, tmp_path: Path, counted: Counted) -> None:
    """[MDS-C-3] After a crash at any call of a first publish there is no index or a complete index.

    A second create succeeds.
    """
    total = calls_of_a_create(tmp_path)
    assert total >= 5
    outcomes = []
    for k in range(1, total + 1):
        md = str(tmp_path / f"md{k}")
        leave_over(Path(md))
        tables = [numbered_table(0, 2), numbered_table(2, 4)]
        with pytest.raises(Crash):
            commit(FaultyStorage(k, **MODES[mode]), md, tmp_path / "s", tables)
        seen = read_rows(md)
        assert seen in (None, expected_rows((0, 4))), f"call {k}"
        outcomes.append(seen is not None)
        commit(DISK, md, tmp_path / "s", [numbered_table(7, 9)], find_live(DISK, md))
        assert read_rows(md) == expected_rows((7, 9)), f"call {k}"
    assert outcomes == sorted(outcomes)
    assert {False, True} == set(outcomes)
    counted("fault points of a commit survived", total)


@pytest.mark.parametrize("mode", MODES)
def test_refresh_that_crashes(mode: str, tmp_path: Path, counted: Counted) -> None:
    """[MDS-C-3] After a crash at any call of a later publish, the old or the new snapshot is complete."""
    old, new = expected_rows((0, 4)), expected_rows((0, 2), (2, 3), (4, 6))
    outcomes = []
    for k in range(1, 50):
        md = str(tmp_path / f"md{k}")
        for i in range(10):  # so that a record is trimmed, too
            replace_all(DISK, md, tmp_path / "s", [numbered_table(100 + i, 101 + i)])
        replace_all(DISK, md, tmp_path / "s", [numbered_table(0, 2), numbered_table(2, 4)])
        assert read_rows(md) == old
        faulty = FaultyStorage(k, **MODES[mode])
        with suppress(Crash):
            refresh(faulty, md, tmp_path / "s")
        if faulty.calls < k:
            assert read_rows(md) == new
            break
        seen = read_rows(md)
        assert seen in (old, new), f"call {k}"
        outcomes.append(seen == new)
        replace_all(DISK, md, tmp_path / "s", [numbered_table(7, 9)])
        assert read_rows(md) == expected_rows((7, 9)), f"call {k}"
    assert outcomes == sorted(outcomes)
    assert outcomes.count(False) >= 2
    assert outcomes.count(True) >= 2
    counted("fault points of a commit survived", len(outcomes))


@pytest.mark.parametrize("mode", MODES)
def test_takeover_that_crashes(mode: str, tmp_path: Path) -> None:
    """[MDS-C-3] [MDS-C-5] While a file of another writer exists, only the listing counts."""
    finished = 0
    for k in range(1, 50):
        md = tmp_path / f"md{k}"
        put_foreign(md, [numbered_table(0, 2)])
        faulty = FaultyStorage(k, **MODES[mode])
        with suppress(Crash):
            commit(faulty, str(md), tmp_path / "s", [numbered_table(2, 4)], find_live(DISK, str(md)))
        live = find_live(DISK, str(md))
        assert live is not None
        assert live.foreign == (md / FOREIGN.format(0)).exists()
        if not live.foreign:
            assert read_rows(str(md)) == expected_rows((2, 4))
        finished += not live.foreign
        if faulty.calls < k:
            break
    assert finished >= 1


def test_an_error_leaves_no_new_file(tmp_path: Path) -> None:
    """[MDS-C-3] After an error before the record, a process that continues removes its files."""
    for k in (3, 4):  # after two listings
        md = str(tmp_path / f"md{k}")
        tables = [numbered_table(0, 2), numbered_table(2, 4)]
        with pytest.raises(Crash):
            commit(FaultyStorage(k, dead=False), md, tmp_path / "s", tables)
        assert new_files(md) == 0


def test_a_put_that_is_sent_twice(tmp_path: Path) -> None:
    """[MDS-C-3] [MDS-C-7] A repeated put of an object store's client finds its own record."""

    class Repeating(LocalStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            super().put_if_absent(path, data)
            return super().put_if_absent(path, data)

    md = str(tmp_path / "md")
    for i in (0, 2):
        commit(Repeating(), md, tmp_path / "s", [numbered_table(i, i + 2)], find_live(DISK, md))
        assert read_rows(md) == expected_rows((i, i + 2))


def test_a_failing_clean_up_is_no_failing_commit(tmp_path: Path) -> None:
    """[MDS-C-3] An error in the clean-up after the record does not fail the commit."""

    class NoRemoval(LocalStorage):
        def remove(self, paths: object) -> None:
            raise OSError("read-only now")

    md = str(tmp_path / "md")
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 2)])
    record = commit(NoRemoval(), md, tmp_path / "s", [numbered_table(2, 4)], find_live(DISK, md))
    assert record.number == 2
    assert read_rows(md) == expected_rows((2, 4))


def test_readers_during_commits(tmp_path: Path) -> None:
    """[MDS-C-3] [MDS-C-11] Concurrent readers always see all files of exactly one commit."""
    md = str(tmp_path / "md")
    commit(DISK, md, tmp_path / "s", [numbered_table(0, 3), numbered_table(3, 6)])
    done = threading.Event()
    seen: list[int] = []
    wrong: list[object] = []

    def look() -> None:
        known = None
        while not done.is_set():
            try:
                known = open_snapshot(DISK, md, known)
                assert known is not None
                found = rows_of(known.load())
            except BaseException as error:  # noqa: BLE001 - judged below, in the test's own thread
                wrong.append(error)
                return
            start = found[0][0]
            seen.append(start)
            if found != expected_rows((start, start + 6)):
                wrong.append(found)

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(1, 51):
        replace_all(DISK, md, tmp_path / "s", [numbered_table(6 * i, 6 * i + 3), numbered_table(6 * i + 3, 6 * i + 6)])
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert len(set(seen)) > 1
    assert read_rows(md) == expected_rows((300, 306))
