"""The files of the query history: each row counts once at any moment, and their number is bounded [REP-H-3]."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xskip.errors import StorageError
from xskip.metadatastore.filesystem import LocalStorage, PutInDoubtError
from xskip.query_history.files import HistoryFiles, HistoryWriter
from xskip.query_history.rows import HistoryRows, ScanKind, ScanSums

NOW = datetime(2026, 11, 27, 12, tzinfo=timezone.utc)
DAY = "20261127"


def sums(at: datetime = NOW, scans: int = 1) -> ScanSums:
    ended = int(at.timestamp() * 1000)
    return ScanSums(ended, ended, 1, scans, 10, 1000, 3, 300, 1.5, (7,))


def kind(predicate: str | None = "a > ?") -> ScanKind:
    return ScanKind("/lake/t", "parquet", predicate, "", ("minmax(a)",), ("minmax(a)",), ("b",), "me", "job (app-1)")


def rows(*predicates: str | None, at: datetime = NOW) -> HistoryRows:
    found = HistoryRows(1000)
    for predicate in predicates:
        found.add(kind(predicate), sums(at))
    return found


def scans(files: HistoryFiles, since: datetime | None = None) -> int:
    return sum(each.scans for _, each in files.rows(since))


def names(root: Path, day: str = DAY) -> list[str]:
    return sorted(path.name for path in (root / day).iterdir())


class Dying(LocalStorage):
    """A storage of a process that dies before it removes files."""

    def remove(self, paths: Iterable[str]) -> None:
        raise StorageError("the process is killed", where=next(iter(paths)))


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    """[REP-H-2]."""
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    HistoryWriter(files).write(rows("a > ?", None), NOW)
    assert list(files.rows()) == [(kind("a > ?"), sums()), (kind(None), sums())]
    (path,) = (tmp_path / DAY).iterdir()
    assert pq.read_schema(path).field("first").type == pa.timestamp("ms", tz="UTC")


def test_equal_scans_are_one_row_and_further_kinds_lose_their_predicate() -> None:
    found = HistoryRows(2)
    for predicate in ("a", "b", "a", "c", "d"):
        found.add(kind(predicate), sums())
    assert {each.predicate: counts.scans for each, counts in found} == {"a": 2, "b": 1, None: 2}


def test_the_number_of_rows_is_bounded_also_by_datasets() -> None:
    found = HistoryRows(2)
    for i in range(10):
        found.add(replace(kind(), dataset=f"/lake/{i}"), sums())
    assert [(each.dataset, counts.scans) for each, counts in found] == [
        ("/lake/0", 1), ("/lake/1", 1), ("/lake/2", 1), ("/lake/3", 1), ("", 6),
    ]  # fmt: skip
    assert list(HistoryRows.parse(found.to_arrow())) == list(found)


def test_a_period_begins_at_its_moment(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for days in (3, 2, 1, 0):
        at = NOW - timedelta(days=days)
        HistoryWriter(files).write(rows("a", at=at), at)
    assert [scans(files, NOW - timedelta(days=days)) for days in (0, 1, 2, 9)] == [1, 2, 3, 4]


def test_a_driver_merges_its_own_files_of_a_day(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    other, writer = HistoryWriter(files), HistoryWriter(files)
    other.write(rows("other"), NOW)
    most = 0
    for i in range(100):
        writer.write(rows(f"a{i % 7}"), NOW + timedelta(seconds=i))
        writer.tidy(NOW + timedelta(seconds=i), 30)
        most = max(most, len(names(tmp_path)))
    assert scans(files) == 101
    assert most <= 22
    assert sum(1 for each, _ in files.rows() if each.predicate == "other") == 1


def test_a_kill_between_a_merge_and_its_removals_counts_no_row_twice(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for _ in range(3):
        HistoryWriter(files).write(rows("a"), NOW)
    with pytest.raises(StorageError):
        HistoryFiles(Dying(), str(tmp_path)).merge(DAY, "merged-a-1.parquet")
    assert len(names(tmp_path)) == 4
    assert scans(files) == 3
    # what replaces the merged file replaces the files that were left, too
    files.merge(DAY, "merged-b-1.parquet")
    assert names(tmp_path) == ["merged-b-1.parquet"]
    assert scans(files) == 3


def test_two_drivers_merge_a_past_day_once(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for _ in range(30):
        HistoryWriter(files).write(rows("a"), NOW)
    tomorrow = NOW + timedelta(days=1)
    threads = [threading.Thread(target=files.maintain, args=(tomorrow, 30)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(tmp_path) == ["merged-day.parquet"]
    assert scans(files) == 30


def test_readers_beside_merges_see_each_row_once(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for _ in range(40):
        HistoryWriter(files).write(rows("a"), NOW)
    found: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found.append(scans(files))

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(10):
        files.merge(DAY, f"merged-a-{i}.parquet")
        HistoryWriter(files).files.put(DAY, f"{i}-0-0.parquet", HistoryRows(1))  # the next merge has something to do
    done.set()
    reader.join()
    assert found
    assert set(found) == {40}


def test_the_present_day_and_late_files_are_left_alone(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for _ in range(2):
        HistoryWriter(files).write(rows("a"), NOW)
    files.maintain(NOW, 30)
    files.maintain(datetime(2026, 11, 28, 1, 59, tzinfo=timezone.utc), 30)  # a driver can still write into the day
    assert len(names(tmp_path)) == 2
    files.maintain(datetime(2026, 11, 28, 2, 1, tzinfo=timezone.utc), 30)
    assert names(tmp_path) == ["merged-day.parquet"]
    HistoryWriter(files).files.put(DAY, "1-0-1.parquet", rows("late"))
    files.maintain(NOW + timedelta(days=2), 30)
    assert scans(files) == 3


def test_old_days_are_removed_and_nothing_else(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    foreign = tmp_path / "notes"
    foreign.mkdir()
    for days in (31, 30, 0):
        HistoryWriter(files).write(rows("a"), NOW - timedelta(days=days))
    files.maintain(NOW, 30)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["20261028", DAY, "notes"]


def test_a_file_that_is_no_history_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    HistoryWriter(files).write(rows("a"), NOW)
    (tmp_path / DAY / "1-0-2.parquet").write_bytes(b"PAR1 torn")
    assert scans(files) == 1
    assert "1-0-2.parquet" in caplog.text


def test_a_merge_keeps_the_rows_of_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    HistoryWriter(files).write(rows("a"), NOW)
    (tmp_path / DAY / "1-0-2.parquet").write_bytes(b"PAR1 torn")
    files.merge(DAY, "merged-a-1.parquet")
    assert names(tmp_path) == ["1-0-2.parquet", "merged-a-1.parquet"]


def test_a_history_without_files_is_empty(tmp_path: Path) -> None:
    assert list(HistoryFiles(LocalStorage(), str(tmp_path / "none")).rows(NOW)) == []


def test_files_of_others_stay(tmp_path: Path) -> None:
    """[REP-H-3]: a history can have been put into a directory with data."""
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    old = NOW - timedelta(days=40)
    HistoryWriter(files).write(rows("a", at=old), old)
    others = ("20250101/data.csv", "10000042/customer.json", "20261018/part-0.parquet", "20261020/x/data.parquet")
    for name in others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"data")
    HistoryWriter(files).tidy(NOW, 30)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == sorted(others)
    assert scans(files) == 0


@pytest.mark.parametrize("days", [None, 400_000, 10**9])
def test_a_history_without_an_end(tmp_path: Path, days: int | None) -> None:
    """[REP-H-3]: None is a setting that is wrong."""
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for at in (NOW, NOW - timedelta(days=5000)):
        HistoryWriter(files).write(rows("a", at=at), at)
    files.maintain(NOW, days)
    assert scans(files) == 2


class Doubtful(LocalStorage):
    """A storage that writes a file, and says for some time that it does not know."""

    doubts = 0

    def put_if_absent(self, path: str, data: bytes) -> bool:
        super().put_if_absent(path, data)
        if self.doubts:
            self.doubts -= 1
            raise PutInDoubtError("no answer", where=path)
        return True

    def read(self, path: str) -> bytes:
        if self.doubts:
            self.doubts -= 1
            raise StorageError("no answer", where=path)
        return super().read(path)


@pytest.mark.parametrize("doubts", [1, 3, 5, 8])
def test_a_file_whose_writing_is_in_doubt_counts_once(tmp_path: Path, doubts: int) -> None:
    """[REP-H-3]."""
    storage = Doubtful()
    storage.doubts = doubts
    writer = HistoryWriter(HistoryFiles(storage, str(tmp_path)))
    rest = [rows("a"), rows("b")]
    for _ in range(9):
        try:
            writer.settle()
            if rest:
                writer.write(rest[0], NOW)
                rest.pop(0)
        except StorageError:
            pass
    assert not rest
    assert storage.doubts == 0
    assert scans(HistoryFiles(LocalStorage(), str(tmp_path))) == 2


def test_a_parquet_file_that_is_no_history_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[REP-H-3]: it has the name of a file of a history."""
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for _ in range(3):
        HistoryWriter(files).write(rows("a"), NOW)
    pq.write_table(pa.table({"x": [1]}), tmp_path / DAY / "1-0-1.parquet")
    bad = pq.read_table(next((tmp_path / DAY).glob(f"{int(NOW.timestamp()) * 1000}-*"))).replace_schema_metadata(
        {"xskip.replaces": "no JSON"}
    )
    pq.write_table(bad, tmp_path / DAY / "1-0-2.parquet")
    assert scans(files) == 3
    files.maintain(NOW + timedelta(days=2), 30)
    assert names(tmp_path) == ["1-0-1.parquet", "1-0-2.parquet", "merged-day.parquet"]
    assert scans(files) == 3
    assert "1-0-2.parquet" in caplog.text


def test_a_day_that_cannot_be_tidied_does_not_stop_the_others(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    old = NOW - timedelta(days=40)
    for at in (old, old, NOW, NOW):
        HistoryWriter(files).write(rows("a", at=at), at)

    class Closed(LocalStorage):
        def remove(self, paths: Iterable[str]) -> None:
            found = list(paths)
            if any("/20261018/" in path for path in found):
                raise StorageError("permission denied", where=found[0])
            super().remove(found)

    HistoryFiles(Closed(), str(tmp_path)).maintain(NOW + timedelta(days=2), 30)
    assert names(tmp_path) == ["merged-day.parquet"]
    assert scans(files) == 4


def test_a_driver_that_was_suspended_counts_nothing_twice(tmp_path: Path) -> None:
    """[REP-H-3]: its merge ends after another driver has merged the day."""
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for _ in range(3):
        HistoryWriter(files).write(rows("a"), NOW)

    class Suspended(LocalStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            files.maintain(NOW + timedelta(days=2), 30)
            return super().put_if_absent(path, data)

    HistoryFiles(Suspended(), str(tmp_path)).merge(DAY, "merged-a-1.parquet")
    assert names(tmp_path) == ["merged-day.parquet"]
    assert scans(files) == 3


def test_what_a_killed_merge_has_left_is_removed_later(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    for _ in range(3):
        HistoryWriter(files).write(rows("a"), NOW)
    with pytest.raises(StorageError):
        HistoryFiles(Dying(), str(tmp_path)).merge(DAY, "merged-day.parquet")
    files.put(DAY, "1-0-1.parquet", rows("late"))
    files.maintain(NOW + timedelta(days=2), 30)
    assert names(tmp_path) == ["1-0-1.parquet", "merged-day.parquet"]
    assert scans(files) == 4


def test_texts_that_no_file_can_have(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    HistoryWriter(files).write(rows("a = '\ud800'"), NOW)
    assert [each.predicate for each, _ in files.rows()] == ["a = '?'"]


class Failing(LocalStorage):
    """A storage whose writes fail as often as said."""

    failures = 0

    def put_if_absent(self, path: str, data: bytes) -> bool:
        if self.failures:
            self.failures -= 1
            raise StorageError("no space left", where=path)
        return super().put_if_absent(path, data)


def test_rows_whose_write_fails_are_not_written_later(tmp_path: Path) -> None:
    """[REP-H-3]: the caller keeps them, and writes them again with others."""
    storage = Failing()
    files = HistoryFiles(storage, str(tmp_path))
    writer, storage.failures = HistoryWriter(files), 1
    with pytest.raises(StorageError, match="no space left"):
        writer.write(rows("a"), NOW)
    writer.settle()
    assert scans(files) == 0
    writer.write(rows("a", "b"), NOW)
    assert scans(files) == 2


def test_a_file_of_another_driver_is_not_replaced(tmp_path: Path) -> None:
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    writer = HistoryWriter(files, "ab" * 16)
    files.put(DAY, f"{int(NOW.timestamp() * 1000)}-{'ab' * 16}-1.parquet", rows("a", "b"))
    with pytest.raises(StorageError, match="the name of a new file is taken"):
        writer.write(rows("c"), NOW)
    writer.write(rows("c"), NOW)
    assert scans(files) == 3


def test_a_merge_that_fails_costs_no_rows(tmp_path: Path) -> None:
    storage = Failing()
    files = HistoryFiles(storage, str(tmp_path))
    writer = HistoryWriter(files)
    for _ in range(25):
        writer.write(rows("a"), NOW)
        storage.failures = 1  # of the merge, if one is due
        writer.tidy(NOW, 30)
        storage.failures = 0
    assert scans(files) == len(names(tmp_path)) == 25


def test_files_that_disappear_all_the_time_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xskip.query_history.files.time.sleep", lambda _: None)
    files = HistoryFiles(LocalStorage(), str(tmp_path))
    HistoryWriter(files).write(rows("a"), NOW)

    class Vanishing(LocalStorage):
        def read(self, path: str) -> bytes:
            raise FileNotFoundError(path)

    with pytest.raises(StorageError, match="disappear while they are read"):
        list(HistoryFiles(Vanishing(), str(tmp_path)).rows())
