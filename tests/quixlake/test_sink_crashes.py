"""The sink can end at any moment, and several writers can run at the same time. Rules: [QLK-SK-3] [QLK-SK-4]."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import frame_of
from tests.metadatastore.samples import Crash, FaultyStorage
from tests.quixlake.lake_files import Message, assert_lake_holds, hidden_files, index_files, segments
from xskip.errors import MetadataCorruptError, StorageError
from xskip.metadatastore.filesystem import LocalStorage, Storage
from xskip.quixlake import completion, manifests
from xskip.quixlake.manifests import stream_batch_name
from xskip.quixlake.sink import Sink, SinkOptions
from xskip.spark.quixlake.segments import PendingUpload, SegmentCalls

SCHEMA = "timestamp bigint, key binary, value binary, partition int, offset bigint"
MODES = {
    "killed before": {"after": False, "dead": True},
    "killed after": {"after": True, "dead": True},
    "error before": {"after": False, "dead": False},
    "error after": {"after": True, "dead": False},
}
#: Two stream keys, two partitions, and three segments of the first ones.
MESSAGES: list[Message] = [(i, b"k", (), b"v", 0, i) for i in range(5)]
MESSAGES += [(0, b"l", (), b"v", 0, 9), (0, None, (), b"v", 1, 9)]
OPTIONS = SinkOptions(max_rows=2, index_rows=2)
NOW = timedelta(seconds=-1)


def frame(spark: SparkSession, messages: list[Message]) -> DataFrame:
    return frame_of(spark, [(m[0], m[1], m[3], m[4], m[5]) for m in messages], SCHEMA)


class FaultyMoves:
    """Renames that count as calls of a storage, and fail with it."""

    def __init__(self, storage: FaultyStorage, calls: SegmentCalls) -> None:
        self._storage, self._calls = storage, calls

    def rename(self, topic: str, moves: Sequence[tuple[str, str, str]], ending: str) -> list[bool]:
        return self._storage._run(self._calls.rename, topic, moves, ending)

    def complete(self, topic: str, uploads: Sequence[str]) -> None:
        self._storage._run(self._calls.complete, topic, uploads)

    def uploads(self, folder: str) -> Sequence[PendingUpload]:
        return self._storage._run(self._calls.uploads, folder)


class StagedSink(Sink):
    """A sink whose job copies segments that another sink has written, which takes no time."""

    staged: tuple[Path, pa.Table]
    during_job: Callable[[], object] = staticmethod(lambda: None)

    def write_segments(self, df: DataFrame, token: str, ending: str = "") -> pa.Table:
        root, table = self.staged
        hidden = []
        for folder, name in zip(table["folder"].to_pylist(), table["hidden"].to_pylist(), strict=True):
            prefix, _, rest = name.split("-", 2)
            hidden.append(f"{prefix}-{token}-{rest}")
            target = Path(self.completion.segments) / folder
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / folder / name, target / hidden[-1])
        self.during_job()
        return table.set_column(table.schema.get_field_index("hidden"), "hidden", pa.array(hidden, pa.string()))


@pytest.fixture(scope="module")
def staged(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    """Return the segments of MESSAGES under hidden names, and their rows."""
    base = tmp_path_factory.mktemp("staged")
    table: list[pa.Table] = []

    class Stopped(Sink):
        def write_segments(self, df: DataFrame, token: str, ending: str = "") -> pa.Table:
            table.append(super().write_segments(df, token, ending))
            raise Crash

    with pytest.raises(Crash):
        Stopped(session, str(base), "t", OPTIONS).write(frame(session, MESSAGES))
    assert len(hidden_files(base)) == len(table[0]) == 5
    return base / "Raw/Topic=t", table[0]


@pytest.fixture
def staged_sink(spark: SparkSession, staged: tuple[Path, pa.Table]) -> Callable[..., StagedSink]:
    """Return a function that creates a sink of MESSAGES, which can have another storage."""

    def create(base: Path, storage: Storage | None = None) -> StagedSink:
        sink = StagedSink(spark, str(base), "t", OPTIONS)
        sink.staged = staged
        if storage is not None:
            moves = FaultyMoves(storage, sink._calls) if isinstance(storage, FaultyStorage) else sink._calls
            sink.completion = replace(sink.completion, storage=storage, moves=moves)
        return sink

    return create


@pytest.mark.parametrize("mode", MODES)
def test_a_sink_that_ends_at_any_step(
    spark: SparkSession,
    tmp_path: Path,
    staged_sink: Callable[..., StagedSink],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
) -> None:
    """[QLK-SK-3] [QLK-SK-4] A new write completes or ignores the batch, and a repetition loses and doubles nothing."""
    monkeypatch.setattr(completion, "_CHUNK", 1)
    monkeypatch.setattr(completion, "_THREADS", 1)
    monkeypatch.setattr(manifests, "_RETAINED_MANIFESTS", 1)
    monkeypatch.setattr(manifests, "_RETAINED_MARKS", 1)
    df = frame(spark, MESSAGES)
    for i in range(3):  # so that the write removes a manifest and a mark
        _empty_batch(staged_sink(tmp_path / "start"), f"before {i}")
    committed = []
    for k in range(1, 60):
        base = shutil.copytree(tmp_path / "start", tmp_path / f"lake{k}")
        faulty = FaultyStorage(k, **MODES[mode])
        with suppress(Crash):
            staged_sink(base, faulty).write(df, "a")
        _assert_whole(base)
        _empty_batch(staged_sink(base), "later")
        visible = bool(segments(base))
        assert_lake_holds(base, MESSAGES if visible else [], hidden=0 if visible or not hidden_files(base) else 5)
        committed.append(visible)
        repeated = staged_sink(base).write(df, "a")
        assert repeated.is_new != visible
        assert_lake_holds(base, MESSAGES, hidden=len(hidden_files(base)))
        staged_sink(base).clean(NOW)
        assert_lake_holds(base, MESSAGES)
        if faulty.calls < k:
            break
    assert committed == sorted(committed)
    assert committed.count(False) >= 1
    assert committed.count(True) >= 10


def _empty_batch(sink: StagedSink, batch: str) -> None:
    """Commit a batch without segments."""
    _, table = sink.staged
    sink.staged = (sink.staged[0], table.slice(0, 0))
    session = SparkSession.getActiveSession()
    assert session is not None
    sink.write(frame(session, []), batch)


def _assert_whole(base: Path) -> None:
    """Assert that each visible segment is one of the five, with all of its messages."""
    whole = [[m[5] for m in segment.messages] for segment in segments(base)]
    assert len(whole) == len({segment.path for segment in segments(base)})
    assert all(offsets in ([0, 1], [2, 3], [4], [9]) for offsets in whole)
    described = [row["Path"] for rows in index_files(base).values() for row in rows]
    assert len(described) == len(set(described))
    assert set(described) <= {f"{base}/{segment.path}" for segment in segments(base)}


def test_files_of_a_batch_without_a_manifest(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]
) -> None:
    """[QLK-SK-4] They stay hidden, and only the old ones are removed."""
    sink = staged_sink(tmp_path)

    def fail() -> None:
        raise Crash

    sink.during_job = fail
    with pytest.raises(Crash):
        sink.write(frame(spark, MESSAGES), "a")
    assert_lake_holds(tmp_path, [], hidden=5)
    assert sink.clean(timedelta(hours=1)) == 0
    old = hidden_files(tmp_path)[0]
    os.utime(old, (0, 0))
    assert sink.clean(timedelta(hours=1)) == 1
    assert_lake_holds(tmp_path, [], hidden=4)
    assert not old.exists()
    assert sink.clean(NOW) == 4
    assert_lake_holds(tmp_path, [])


def test_two_writers_of_the_same_batch(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]
) -> None:
    """[QLK-SK-4] The first manifest counts, also if it is complete and removed before the second writer commits."""
    df = frame(spark, MESSAGES)
    slow = staged_sink(tmp_path)
    slow.during_job = lambda: staged_sink(tmp_path).write(df, "a")
    assert not slow.write(df, "a").is_new
    assert_lake_holds(tmp_path, MESSAGES)

    def write_and_trim() -> None:
        staged_sink(tmp_path).write(df, "b")
        for manifest in (tmp_path / "Metadata/Topic=t/_xskip").glob("*.arrow"):
            manifest.unlink()

    slow.during_job = write_and_trim
    before = sorted(segment.path for segment in segments(tmp_path))
    assert not slow.write(df, "b").is_new
    assert sorted(segment.path for segment in segments(tmp_path)) == before
    assert hidden_files(tmp_path) == []


def test_a_manifest_that_is_sent_twice(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]
) -> None:
    """[QLK-SK-3] A repeated put of an object store's client finds its own manifest and its own index files."""

    class Repeating(LocalStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            super().put_if_absent(path, data)
            return super().put_if_absent(path, data)

    assert staged_sink(tmp_path, Repeating()).write(frame(spark, MESSAGES), "a").is_new
    assert_lake_holds(tmp_path, MESSAGES)


def test_another_writer_completes_a_batch_at_the_same_time(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]
) -> None:
    """[QLK-SK-4] Both find what the other one has done, whichever step it was."""
    meanwhile: list[int] = []

    class Busy(LocalStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            made = super().put_if_absent(path, data)
            if not meanwhile:
                meanwhile.append(1)
                _empty_batch(staged_sink(tmp_path), "other")
            return made

    assert staged_sink(tmp_path, Busy()).write(frame(spark, MESSAGES), "a").is_new
    assert_lake_holds(tmp_path, MESSAGES)


def test_completion_changes_nothing_that_is_complete(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]
) -> None:
    """[QLK-SK-4] [QLK-SK-8]"""
    sink = staged_sink(tmp_path)
    sink.write(frame(spark, MESSAGES), "a")
    log = sink.completion.log
    (batch,) = log.recorded().manifests
    manifest = log.read(batch)
    assert manifest is not None

    def files() -> dict[str, int]:
        return {str(path): path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}

    before = files()
    sink.completion.complete(manifest)
    assert files() == before
    for segment in segments(tmp_path):
        (tmp_path / segment.path).unlink()
    sink.completion.complete(manifest)  # complete: others may have removed the segments since then
    (tmp_path / "Metadata/Topic=t/_xskip" / f"{batch}.done").unlink()
    with pytest.raises(StorageError, match="a segment of a committed batch is missing"):
        sink.completion.complete(manifest)


def test_a_rename_that_has_only_copied(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]
) -> None:
    """[QLK-SK-4] On an object store, a rename can end between the copy and the removal."""

    class Copying(FaultyStorage):
        def _run(self, work: Callable[..., Any], *args: Any) -> Any:
            if work.__name__ == "rename":
                topic, ((folder, hidden, name), *_), _ = args
                shutil.copyfile(f"{topic}/{folder}/{hidden}", f"{topic}/{folder}/{name}")
                raise Crash
            return work(*args)

    with pytest.raises(Crash):
        staged_sink(tmp_path, Copying(0)).write(frame(spark, MESSAGES), "a")
    assert len(hidden_files(tmp_path)) == 5
    _empty_batch(staged_sink(tmp_path), "b")
    assert_lake_holds(tmp_path, MESSAGES)


@pytest.mark.parametrize("kept", [0, 2, 4, 5, 30, -20, -1, None])
def test_a_file_that_is_no_segment_has_the_name(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink], kept: int | None
) -> None:
    """[QLK-SK-8] The file stays, and the segment gets another name."""
    staged_sink(tmp_path / "one").write(frame(spark, MESSAGES), "a")
    segment = min((tmp_path / "one/Raw").rglob("ts_*.avro*"))
    taken = tmp_path / "other" / segment.relative_to(tmp_path / "one")
    taken.parent.mkdir(parents=True)
    # the beginning of the segment itself, as a copy that was interrupted leaves it
    content = b"no Avro" if kept is None else segment.read_bytes()[:kept]
    taken.write_bytes(content)
    staged_sink(tmp_path / "other").write(frame(spark, MESSAGES), "a")
    assert taken.read_bytes() == content
    taken.unlink()
    assert_lake_holds(tmp_path / "other", MESSAGES)


def test_index_files_whose_names_are_taken(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]
) -> None:
    """[QLK-SK-5] [QLK-SK-8] The sink takes another number, and a completion finds it."""
    taken = tmp_path / "Metadata/Topic=t/Key=k/index_raw_0_0.parquet"
    taken.parent.mkdir(parents=True)
    taken.write_bytes(b"other")
    sink = staged_sink(tmp_path)
    sink.write(frame(spark, MESSAGES), "a")
    assert taken.read_bytes() == b"other"
    taken.unlink()
    assert_lake_holds(tmp_path, MESSAGES)
    taken.write_bytes(b"other")
    names = sorted(tmp_path.rglob("*.parquet"))
    (batch,) = sink.completion.log.recorded().manifests
    manifest = sink.completion.log.read(batch)
    assert manifest is not None
    sink.completion.complete(manifest)
    assert sorted(tmp_path.rglob("*.parquet")) == names


def test_a_damaged_manifest(spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink]) -> None:
    """[QLK-SK-3] It commits nothing; only a store without atomic puts can have one."""
    sink = staged_sink(tmp_path)
    sink.write(frame(spark, MESSAGES), "a")
    folder = tmp_path / "Metadata/Topic=t/_xskip"
    (manifest,) = folder.glob("*.arrow")
    damaged = folder / f"{manifests.batch_name('batch b')}.arrow"
    damaged.write_bytes(manifest.read_bytes()[:-20])
    _empty_batch(staged_sink(tmp_path), "c")
    with pytest.raises(MetadataCorruptError, match="clean"):
        staged_sink(tmp_path).write(frame(spark, MESSAGES), "b")
    assert sink.clean() == 0
    sink.clean(NOW)
    assert not damaged.exists()
    assert staged_sink(tmp_path).write(frame(spark, MESSAGES), "b").is_new


def test_old_manifests_and_marks_are_removed(
    spark: SparkSession, tmp_path: Path, staged_sink: Callable[..., StagedSink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-SK-4] Marks outlive manifests, and each stream has marks of its own."""
    monkeypatch.setattr(manifests, "_RETAINED_MANIFESTS", 2)
    monkeypatch.setattr(manifests, "_RETAINED_MARKS", 4)
    monkeypatch.setattr(manifests, "_RETAINED_OF_STREAM", 1)
    sink, df = staged_sink(tmp_path), frame(spark, [])
    sink.staged = (sink.staged[0], sink.staged[1].slice(0, 0))
    for number in range(4):
        sink.write_named(df, stream_batch_name("s", number))
    for i in range(12):
        sink.write(df, str(i))
        folder = tmp_path / "Metadata/Topic=t/_xskip"
        times = sorted(folder.glob("*.arrow"), key=lambda path: path.stat().st_mtime_ns)
        for age, path in enumerate(times):  # several files of the same millisecond have no order
            os.utime(path, (1000 + age, 1000 + age))
    recorded = sink.completion.log.recorded()
    assert len(recorded.manifests) == 3
    assert len([name for name in recorded.marks if name.startswith("batch-")]) <= 8
    assert len([name for name in recorded.marks if name.startswith("stream-")]) == 1
    assert not sink.write(df, "11").is_new
    assert sink.write(df, "0").is_new, "forgotten"
    assert [sink.write_named(df, stream_batch_name("s", n)).is_new for n in (0, 3, 4)] == [False, False, True]
    assert sink.write_named(df, stream_batch_name("u", 0)).is_new, "another stream"


_FLAKY = """
import sys
from pathlib import Path
import pyspark.sql.functions as F
from pyspark import TaskContext
from pyspark.sql import SparkSession
from xskip.quixlake import message_frame, sink
spark = (SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2").getOrCreate())

@F.udf("boolean")
def flaky(offset):
    if TaskContext.get().attemptNumber() == 0 and offset % 100 == 99:
        raise RuntimeError("the first attempt fails")
    return True

real = message_frame.message_frame
def failing(df):
    frame = real(df)
    after_the_sort = frame.messages.filter(flaky.asNondeterministic()("offset"))
    return message_frame.MessageFrame(after_the_sort, frame.has_branches)
sink.message_frame = failing
df = spark.range(1000).selectExpr("id AS timestamp", "CAST(id % 7 AS STRING) AS key", "'v' AS value",
    "CAST(id % 2 AS INT) AS partition", "id AS offset")
print("is new:", sink.Sink(spark, sys.argv[1], "t", sink.SinkOptions(max_rows=10)).write(df).is_new)
"""


def test_attempts_of_tasks_that_fail(tmp_path: Path) -> None:
    """[QLK-SK-3] Only the attempts that count are visible, and failed attempts remove their files."""
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", _FLAKY, str(tmp_path / "lake")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert "is new: True" in ran.stdout, ran.stderr[-3000:]
    assert "the first attempt fails" in ran.stderr
    expected = [(i, str(i % 7).encode(), (), b"v", i % 2, i) for i in range(1000)]
    assert_lake_holds(tmp_path / "lake", expected)
