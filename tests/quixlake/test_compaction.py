"""Tests of compaction: the same messages in fewer segments, at every moment and after every failure."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.quixlake.lakes import DAY, START, WrittenLake, hourly, identity, records
from xskip.errors import CommitConflictError, StorageError
from xskip.metadatastore.filesystem import FileEntry
from xskip.quixlake import QuixLake, SinkOptions
from xskip.quixlake.completion import Completion
from xskip.quixlake.manifests import ManifestLog, Recorded, compaction_name

#: A limit in the future: the clock of files need not be that of Python.
NOW = timedelta(minutes=-1)


class StoppedError(Exception):
    """The error of a writer that a test stops."""


def messages(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(map(identity, frame.collect()))


def segments(base: Path) -> set[Path]:
    return {path for path in base.glob("Raw/**/*.avro*") if not path.name.startswith(".")}


def index_files(base: Path) -> set[Path]:
    return set(base.glob("Metadata/**/index_raw_*.parquet"))


def test_many_segments_become_few(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1] [QLK-CP-3] [QLK-CP-4]"""
    written = hourly(tmp_path, ("a/b", "10", None), exact=True)
    for i in range(3):
        written.describe([written.segment("10", records(2, first=100 + 10 * i, partition=1))], exact=True)
    lake = QuixLake(spark, str(tmp_path))
    before, old, old_index = messages(lake.read("t")), segments(tmp_path), index_files(tmp_path)
    frame = lake.read("t")
    found = lake.compact("t", older_than=NOW)
    assert (found.replaced, found.added, found.messages) == (21, 3, 78)
    assert found.index_files[0] >= len(old_index)
    assert messages(lake.read("t")) == before
    assert messages(frame) == before  # a read that was made before keeps to its segments
    added = segments(tmp_path) - old
    assert len(added) == 3
    assert len(index_files(tmp_path)) == 3
    rows = {row["stream_key"]: row for row in lake.segments("t")}
    assert {row["messages"] for row in rows.values()} == {24, 30}
    assert len(lake.segments("t")) == len(lake.segments("t", listed=True)) == 3
    assert [row["segments"] for row in lake.topics()] == [3]
    assert len(lake.check("t")) == 0
    # other readers see from descriptors which segments were replaced
    assert lake.compact("t", older_than=NOW).replaced == 0
    assert lake.clean("t", older_than=timedelta(days=1)) == 0
    assert old <= segments(tmp_path)
    assert lake.clean("t", older_than=NOW) == 21
    assert segments(tmp_path) == added
    assert messages(lake.read("t")) == before
    assert len(lake.check("t")) == 0
    assert lake.compact("t", older_than=NOW).replaced == 0


def test_order_and_days_stay(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1] Late messages and midnight: segments hold one day, in the order of offsets."""
    written = WrittenLake(tmp_path)
    rng = random.Random(1)
    offset = 0
    for _ in range(6):
        rows = records(4)
        for row in rows:
            offset += rng.choice((1, 5))
            row |= {"offset": offset, "timestamp": START + DAY + rng.choice((-5000, -1, 0, 2000))}
        written.describe([written.segment("k", rows)], exact=True)
    lake = QuixLake(spark, str(tmp_path))
    before = messages(lake.read("t"))
    lake.compact("t", older_than=NOW, options=SinkOptions(max_rows=10, max_millis=DAY))
    assert messages(lake.read("t")) == before
    for row in lake.segments("t"):
        frame = lake.read("t", offsets=(row["first"], row["last"] + 1))
        own = frame.filter(f"input_file_name() LIKE '%{Path(row['path']).name}'")
        days = {r.time.date() for r in own.select("time").collect()}
        assert len(days) == 1
        offsets = [r.offset for r in own.select("offset").collect()]
        assert offsets == sorted(offsets)


def test_only_old_and_small_segments_are_merged(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1]"""
    written = hourly(tmp_path, ("a",), exact=True)
    written.segment("a", records(50, first=900, value=random.Random(1).randbytes(4000)))
    written.segment("b", records(2))
    written.segment("c", records(2), name="x.avro")
    written.segment("c", records(2, first=9), name="y.avro")
    lake = QuixLake(spark, str(tmp_path))
    assert lake.compact("t").replaced == 0
    found = lake.compact("t", older_than=NOW, options=SinkOptions(max_bytes=50_000, max_millis=DAY))
    assert (found.replaced, found.added) == (6, 1)


def test_deleted_segments_stay_deleted(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1] [QLK-DE-5]"""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(3, first=10 * i)) for i in range(4)]
    deleted = {"DeletedAt": dt.datetime(2026, 5, 1, tzinfo=dt.timezone.utc)}
    written.describe([*rows[:3], rows[3] | deleted], exact=True)
    lake = QuixLake(spark, str(tmp_path))
    assert lake.compact("t", older_than=NOW).replaced == 3
    assert lake.read("t").count() == 9
    lake.clean("t", older_than=NOW)
    assert lake.read("t").count() == 9
    assert [row["case"] for row in lake.check("t")] == ["deleted"]


def test_the_index_follows(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-2] [QLK-IX-3]"""
    hourly(tmp_path, ("a", "b"), exact=True)
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t")
    index.create([xskip.ValueList("value")], progress=False)
    before = messages(lake.read("t"))
    lake.compact("t", older_than=NOW)
    assert index.status().up_to_date
    assert messages(lake.read("t")) == before
    assert lake.read("t").filter("value = X'76616c7565203131'").count() == 2
    assert len(index.files("offset = 11").names) == 2


def test_a_read_at_each_moment(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QLK-CP-2] [QLK-CP-5] A compaction stops at each step; readers and a further compaction find all messages."""
    hourly(tmp_path, ("a", "b"), exact=True)
    lake = QuixLake(spark, str(tmp_path))
    before = messages(lake.read("t"))

    def stopped(*_: object, **__: object) -> None:
        raise StoppedError

    steps = ((ManifestLog, "commit"), (Completion, "_named"), (Completion, "_describe"), (ManifestLog, "mark"))
    for owner, step in steps:
        with monkeypatch.context() as patched:
            patched.setattr(owner, step, stopped)
            with pytest.raises(StoppedError):
                lake.compact("t", older_than=NOW)
        assert messages(lake.read("t")) == before, step
        assert messages(QuixLake(spark, str(tmp_path)).read("t", keys="a")) == Counter(
            {key: n for key, n in before.items() if key[0] == "a"}
        )
        assert len(lake.segments("t")) == len(lake.segments("t", listed=True))
        if owner is Completion or step == "mark":  # the manifest commits: whoever comes next completes it
            break
    found = lake.compact("t", older_than=NOW)
    assert messages(lake.read("t")) == before
    assert len(lake.segments("t", listed=True)) == 2
    assert found.replaced == 0
    lake.clean("t", older_than=NOW)
    assert messages(lake.read("t")) == before
    assert len(segments(tmp_path)) == 2


@pytest.mark.parametrize("step", ["_named", "_describe", "mark"])
def test_a_committed_compaction_is_completed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """[QLK-CP-2] [QLK-SK-4]"""
    written = hourly(tmp_path, ("a", "b"), exact=True)
    lake = QuixLake(spark, str(tmp_path))
    before = messages(lake.read("t"))
    owner = ManifestLog if step == "mark" else Completion

    def stopped(*_: object, **__: object) -> None:
        raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, stopped)
        with pytest.raises(StoppedError):
            lake.compact("t", older_than=NOW)
    assert messages(lake.read("t")) == before
    assert len(lake.segments("t", listed=True)) == 12
    columns = "timestamp LONG, key BINARY, value BINARY, partition INT, offset LONG"
    more = spark.createDataFrame([(START, b"k", b"v", 7, 1)], columns)
    lake.write(more, "t")
    assert len(lake.segments("t", listed=True)) == 3
    assert lake.read("t").count() == len(written.messages) + 1


def test_of_two_compactions_at_the_same_time_one_fails(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-CP-5]"""
    hourly(tmp_path, ("a", "b"), exact=True)
    lake = QuixLake(spark, str(tmp_path))
    before = messages(lake.read("t"))
    commit = ManifestLog.commit

    def later(self: ManifestLog, manifest: Any) -> bool:
        monkeypatch.setattr(ManifestLog, "commit", commit)
        lake.compact("t", older_than=NOW)
        return commit(self, manifest)

    monkeypatch.setattr(ManifestLog, "commit", later)
    with pytest.raises(CommitConflictError, match="another writer changed the segments"):
        lake.compact("t", older_than=NOW)
    assert messages(lake.read("t")) == before
    assert len(lake.segments("t", listed=True)) == 2
    assert not list(tmp_path.glob("Raw/**/.[!.]*avro"))


def test_a_segment_that_is_deleted_meanwhile_fails_the_compaction(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-CP-5]"""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(3, first=10 * i)) for i in range(3)]
    written.describe(rows, exact=True)
    lake = QuixLake(spark, str(tmp_path))
    from xskip.quixlake.sink import Sink

    write = Sink.write_segments

    def meanwhile(self: Sink, df: DataFrame, token: str, ending: str) -> Any:
        later = dt.datetime(2026, 6, 1, tzinfo=dt.timezone.utc)
        written.describe([rows[0] | {"CreatedAt": later, "DeletedAt": later}])
        return write(self, df, token, ending)

    monkeypatch.setattr(Sink, "write_segments", meanwhile)
    with pytest.raises(CommitConflictError):
        lake.compact("t", older_than=NOW)
    assert lake.read("t").count() == 6
    assert len(segments(tmp_path)) == 3


def test_a_compaction_reads_every_message_whatever_the_session_says(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1]"""
    written = hourly(tmp_path, ("a",), exact=True)
    row = written.segment("a", records(50, first=900, value=random.Random(1).randbytes(900)))
    written.describe([row | {"FileSizeBytes": 2000}], exact=True)
    path = tmp_path / row["Path"].partition("workspace/")[2]
    path.write_bytes(path.read_bytes()[:2000])
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    lake = QuixLake(spark, str(tmp_path))
    with pytest.raises(StorageError, match=path.name):
        lake.compact("t", older_than=NOW)
    assert len(segments(tmp_path)) == 7


def test_compactions_that_change_during_each_listing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-CP-2]"""
    hourly(tmp_path, ("a",), exact=True)
    lake = QuixLake(spark, str(tmp_path))
    numbers = itertools.count(1)

    def recorded(_: ManifestLog) -> Recorded:
        return Recorded({compaction_name(next(numbers)): FileEntry("a compaction.arrow", 1, 1)}, {})

    monkeypatch.setattr(ManifestLog, "recorded", recorded)
    with pytest.raises(StorageError, match="change during each listing"):
        lake.read("t")


def test_segments_of_other_writers_stay(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1] They can hold fields and marks that a rewritten record would not."""
    hourly(tmp_path, ("a",))
    assert QuixLake(spark, str(tmp_path)).compact("t", older_than=NOW).replaced == 0


def test_segments_that_would_be_replaced_by_equal_ones_stay(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1] [QLK-SK-7] A tombstone has a segment of its own, with which no other is merged."""
    columns = "timestamp LONG, key BINARY, value BINARY, partition INT, offset LONG"
    rows = [(START, b"k", b"v", 0, 0), (START + 1, b"k", None, 0, 1)]
    lake = QuixLake(spark, str(tmp_path))
    lake.write(spark.createDataFrame(rows, columns), "t")
    before = segments(tmp_path)
    assert len(before) == 2
    for _ in range(2):
        assert lake.compact("t", older_than=NOW).replaced == 0
        assert lake.clean("t", older_than=NOW) == 0
        assert segments(tmp_path) == before
        assert lake.read("t").count() == 2
    more = [(START + 2 + i, b"k", b"v", 0, 2 + i) for i in range(2)]
    for row in more:
        lake.write(spark.createDataFrame([row], columns), "t")
    found = lake.compact("t", older_than=NOW)
    assert (found.replaced, found.messages) == (4, 4)
    assert lake.read("t").count() == 4
    lake.clean("t", older_than=NOW)
    assert lake.read("t").count() == 4
    assert not segments(tmp_path) & before


def test_the_mark_of_another_manifest_does_not_complete_a_compaction(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-CP-5]"""
    hourly(tmp_path, ("a",), exact=True)
    lake = QuixLake(spark, str(tmp_path))

    def stopped(*_: object) -> None:
        raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(ManifestLog, "mark", stopped)
        with pytest.raises(StoppedError):
            lake.compact("t", older_than=NOW)
    (manifest,) = tmp_path.rglob("compaction-*.arrow")
    manifest.with_suffix(".done").write_text('{"token": "another"}')
    assert len(lake.segments("t", listed=True)) == 6
    assert lake.read("t").count() == 24
    assert lake.clean("t", older_than=NOW) == 0
    assert lake.read("t").count() == 24
