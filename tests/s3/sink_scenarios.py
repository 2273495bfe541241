"""The scenarios of the sink of a Quix Lake on S3, where segments wait for their commit in uploads. Rules: [QLK-SK]."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.quixlake.lakes import offsets
from tests.s3.bucket import CONDITIONAL_PUTS, HADOOP, Bucket, conditional, scenario
from tests.s3.lake_scenarios import AT_ONCE, PLACE, below_raw, in_lake, index_requests
from xskip.errors import StorageError
from xskip.quixlake import QuixLake, completion
from xskip.quixlake.completion import Completion
from xskip.quixlake.manifests import ManifestLog
from xskip.quixlake.sink import Sink, SinkOptions

OPTIONS = SinkOptions(codec="null")
#: The end of the name of a segment that was uploaded.
DIGEST = re.compile(r"\.avro\.[0-9a-f]{40}$")
#: The settings of S3A without uploads, for which it needs buffers on disk.
WITHOUT_UPLOADS = {"multipart_uploads_enabled": "false", "fast_upload_buffer": "disk"}
_MEBIBYTE = 1 << 20


class KilledError(Exception):
    """The end of a writer."""


def messages(bucket: Bucket, count: int, keys: int = 1, value: str = "'v'") -> DataFrame:
    key = f"CAST(id % {keys} AS STRING) AS key"
    columns = "id AS timestamp", key, f"{value} AS value", "0 AS partition", "id AS offset"
    return bucket.spark.range(count).selectExpr(*columns)


def sink_of(bucket: Bucket, place: str = PLACE, options: SinkOptions = OPTIONS) -> Sink:
    return Sink(bucket.spark, f"s3a://{bucket.name}/{place}", "t", options)


def lake_of(bucket: Bucket, place: str = PLACE) -> QuixLake:
    return QuixLake(bucket.spark, f"s3a://{bucket.name}/{place}")


def segment_names(bucket: Bucket, place: str = PLACE) -> list[str]:
    """Return the sorted names of the files of segments, hidden ones included."""
    return sorted(key.rpartition("/")[2] for key in bucket.server.keys(bucket.name, f"{place}/Raw"))


def requests_of(bucket: Bucket, work: Callable[[], object]) -> list[str]:
    with bucket.server.order():
        work()
        return [in_lake(each) for each in bucket.server.seen()]


def other_bucket(bucket: Bucket, name: str, **settings: str) -> Bucket:
    """Return a bucket with settings of S3A."""
    conf: Any = bucket.spark.sparkContext._jsc
    for setting, value in settings.items():
        conf.hadoopConfiguration().set(f"fs.s3a.bucket.{name}.{setting.replace('_', '.')}", value)
    return Bucket(bucket.spark, bucket.server, name)


@contextmanager
def stopped_before(of: type, step: str) -> Iterator[None]:
    """Kill writers at a call of a method."""

    def killed(*_: object, **__: object) -> None:
        raise KilledError

    with pytest.MonkeyPatch.context() as patched, suppress(KilledError):
        patched.setattr(of, step, killed)
        yield


@scenario
def sink(bucket: Bucket) -> None:
    """Check that the sink of a Quix Lake names all segments, and repeats no batch."""
    lake = sink_of(bucket)
    df = messages(bucket, 10, keys=2)
    assert [lake.write(df, "b").rows, lake.write(df, "b").rows, lake.clean(AT_ONCE)] == [10, 0, 0]
    names = segment_names(bucket)
    assert all(map(DIGEST.search, names)), names
    plain = [f"ts_{i}_{i + 8}_part_0_off_{i}_{i + 8}.avro" for i in (0, 1)]
    assert [DIGEST.sub(".avro", name) for name in names] == plain
    assert len(bucket.server.keys(bucket.name, "index_raw_0_")) == 2
    assert bucket.server.uploads(bucket.name) == []
    assert offsets(lake_of(bucket).read("t")) == [*range(10)]
    assert len(lake_of(bucket).check("t")) == 0


@conditional
def requests_of_the_sink(bucket: Bucket) -> None:
    """Check what a batch costs: four requests for a segment, one for an index file, and few for the batch."""
    lake = sink_of(bucket)
    seen = requests_of(bucket, lambda: lake.write(messages(bucket, 80, keys=8), "b"))
    # the upload with its part, and the look for the name and the end of the upload
    kinds = Counter(each.partition(" ")[0] for each in below_raw(seen))
    assert kinds == {"START": 8, "PART": 8, "HEAD": 8, "COMPLETE": 8}, seen
    assert len(index_requests(seen)) == 8
    assert len(seen) <= 8 * 5 + 8, seen
    many = sink_of(bucket, "many/lake", replace(OPTIONS, max_rows=2))
    with bucket.server.order():
        assert many.write(messages(bucket, 80, keys=2), "b").segments == 40
        assert len(bucket.server.seen()) <= 40 * 4 + 2 + 8, bucket.server.seen()


@scenario
def a_store_without_uploads(bucket: Bucket) -> None:
    """Check that the sink renames where S3A or the store has no uploads or removes them, or without a local folder."""
    df = messages(bucket, 80, keys=8)
    kinds = {
        ("PUT", True): 8, ("LIST", False): 16, ("HEAD", True): 16, ("HEAD", False): 8, ("PUT", False): 8,
        ("DELETE", True): 8,
    }  # fmt: skip
    for number, settings in enumerate((WITHOUT_UPLOADS, {"multipart_purge": "true"}, {"buffer_dir": "/proc/x"})):
        other = other_bucket(bucket, f"without-uploads-{number}", **settings)
        seen = requests_of(other, partial(sink_of(other).write, df, "b"))
        if HADOOP < CONDITIONAL_PUTS:  # which looks at more
            continue
        # the creation, the rename with its looks at both names and its copy, and the removal of the hidden name
        assert Counter((each.partition(" ")[0], "._xskip-" in each) for each in below_raw(seen)) == kinds, seen
        assert len(index_requests(seen)) == 8
        assert len(seen) <= 8 * 9 + 8, seen
    with bucket.server.order(no_uploads=True):
        assert sink_of(bucket).write(df, "b").segments == 8
        starts = [each for each in map(in_lake, bucket.server.seen()) if each.startswith("START")]
    assert 1 <= len(set(starts)) <= 2, starts  # a task asks the store once, which an older SDK repeats
    plain = sorted(f"ts_{i}_{i + 72}_part_0_off_{i}_{i + 72}.avro" for i in range(8))
    assert segment_names(bucket) == segment_names(other) == plain
    assert offsets(lake_of(bucket).read("t")) == [*range(80)]


@scenario
def a_name_that_is_taken(bucket: Bucket) -> None:
    """Check that a segment gets another name where a file or a folder on S3 has its own, and that nothing is lost."""
    columns = "id AS timestamp", "'k' AS key", "'v' AS value", "id AS partition", "id AS offset"
    other = other_bucket(bucket, "a-taken-name", **WITHOUT_UPLOADS)
    folder = f"{PLACE}/Raw/Topic=t/Key=k/Start=1970-01-01"
    other.server.put(other.name, f"{folder}/ts_0_0_part_0_off_0_0.avro/x.txt", b"x")
    other.server.put(other.name, f"{folder}/ts_1_1_part_1_off_1_1.avro", b"no Avro")
    assert sink_of(other).write(bucket.spark.range(3).selectExpr(*columns), "b").segments == 3
    names = [key.rpartition("/")[2] for key in other.server.keys(other.name, "Raw") if key.count("/") == 6]
    stems = sorted(name.partition(".avro")[0] + ("+" if name.partition(".avro")[2] else "") for name in names)
    assert stems == [
        "ts_0_0_part_0_off_0_0+", "ts_1_1_part_1_off_1_1", "ts_1_1_part_1_off_1_1+", "ts_2_2_part_2_off_2_2"
    ], names  # fmt: skip


@scenario
def a_rename_that_has_only_copied(bucket: Bucket) -> None:
    """Check that the next writer completes a batch whose writer ended between the copy and the removal of a rename."""
    other = other_bucket(bucket, "only-copied", **WITHOUT_UPLOADS)
    lake, df = sink_of(other, options=replace(OPTIONS, max_rows=1)), messages(bucket, 2)
    with stopped_before(Completion, "complete"):
        lake.write(df, "b")
    (batch,) = lake.completion.log.recorded().unfinished
    manifest = lake.completion.log.read(batch)
    assert manifest is not None
    first, second = manifest.segments.to_pylist()
    folder = f"{PLACE}/Raw/Topic=t/{first['folder']}"
    content = lake.completion.storage.read(f"s3a://{other.name}/{folder}/{first['hidden']}")
    other.server.put(other.name, f"{folder}/{first['name']}", content)
    assert not sink_of(other).write(df, "b").is_new
    assert segment_names(other) == sorted([first["name"], second["name"]])
    assert offsets(lake_of(other).read("t")) == [0, 1]


@scenario
def a_segment_of_several_parts(bucket: Bucket) -> None:
    """Check that a segment which is larger than a part of an upload keeps its messages, also over retries."""
    other = other_bucket(bucket, "several-parts", multipart_size="5M")
    df = messages(bucket, 10, value=f"repeat(CAST(id AS STRING), {_MEBIBYTE} + CAST(id AS INT))")
    with other.server.order(hang_up=3):
        result = sink_of(other).write(df, "b")
        parts = set(re.findall(r"partNumber=\d+", " ".join(other.server.seen())))
    assert (result.segments, result.rows) == (1, 10)
    assert len(parts) == 3, parts
    read = {row.offset: bytes(row.value) for row in lake_of(other).read("t").collect()}
    assert read == {i: str(i).encode() * (_MEBIBYTE + i) for i in range(10)}
    assert other.server.uploads(other.name) == []


class Life:
    """The calls of a writer, which is killed after a number of them."""

    def __init__(self, most: int) -> None:
        self.calls = 0
        self._most = most

    def call(self, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.calls == self._most:
            raise KilledError
        self.calls += 1
        return work(*args, **kwargs)


class Mortal:
    """An object whose methods are calls of a life."""

    def __init__(self, target: Any, life: Life) -> None:
        self._target, self._life = target, life

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        return lambda *args, **kwargs: self._life.call(method, *args, **kwargs)


class MortalSink(Sink):
    """A sink that is killed at the end of a life."""

    life: Life

    def write_segments(self, df: DataFrame, token: str, ending: str = "") -> pa.Table:
        return self.life.call(super().write_segments, df, token, ending)


def mortal_sink(bucket: Bucket, place: str, options: SinkOptions, life: Life) -> Sink:
    sink = MortalSink(bucket.spark, f"s3a://{bucket.name}/{place}", "t", options)
    sink.life = life
    own: Any = sink.completion
    sink.completion = replace(own, storage=Mortal(own.storage, life), moves=Mortal(own.moves, life))
    return sink


@scenario
def a_sink_that_ends_at_any_step(bucket: Bucket) -> None:
    """Check that a batch is there once or not at all after its writer was killed, and that clean removes the rest."""
    options, df = replace(OPTIONS, max_rows=2, index_rows=2), messages(bucket, 5, keys=2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(completion, "_CHUNK", 1)
        patched.setattr(completion, "_THREADS", 1)
        committed, reads = [], []
        for calls in itertools.count():
            life, place = Life(calls), f"killed-after-{calls}"
            with suppress(KilledError):
                mortal_sink(bucket, place, options, life).write(df, "b")
            next_sink = sink_of(bucket, place, options)
            next_sink.completion.complete_all(next_sink.completion.log.recorded())
            visible = segment_names(bucket, place)
            committed.append(bool(visible))
            assert len(visible) in (0, 3), visible
            assert next_sink.write(df, "b").is_new is not committed[-1]
            assert len(segment_names(bucket, place)) == 3
            next_sink.clean(AT_ONCE)
            assert bucket.server.uploads(bucket.name, place) == []
            reads.append(lake_of(bucket, place).read("t").select(F.lit(place).alias("place"), "offset"))
            if life.calls < calls:
                break
    assert len(lake_of(bucket, place).check("t")) == 0
    found = sorted((row.place, row.offset) for row in reduce(DataFrame.unionAll, reads).collect())
    assert found == sorted((f"killed-after-{calls}", i) for calls in range(len(reads)) for i in range(5))
    assert committed == sorted(committed)
    assert committed.count(False) == 3, "before the listing, the job and the commit"
    assert committed.count(True) >= 8


@scenario
def uploads_of_abandoned_batches(bucket: Bucket) -> None:
    """Check that clean aborts the old uploads of batches that were not committed, and no others."""
    lake, df = sink_of(bucket), messages(bucket, 6, keys=3)
    with stopped_before(ManifestLog, "commit"):
        lake.write(df, "b")
    assert len(bucket.server.uploads(bucket.name)) == 3
    assert segment_names(bucket) == []
    folder = f"{PLACE}/Raw/Topic=t/Key=0/Start=1970-01-01"
    foreign = f"{folder}/ts_0_0_part_0_off_0_0.avro"
    identity = bucket.server.start_upload(bucket.name, foreign)
    with bucket.server.order(started="2999-01-01T00:00:00.000Z"):
        assert lake.clean(timedelta(hours=1)) == 0
    assert len(bucket.server.uploads(bucket.name)) == 4
    assert lake.clean(timedelta(hours=1)) == 3
    assert bucket.server.uploads(bucket.name) == [(foreign, identity)]
    assert lake.write(df, "b").is_new
    assert offsets(lake_of(bucket).read("t")) == [*range(6)]


@scenario
def uploads_of_a_task_that_fails(bucket: Bucket) -> None:
    """Check that a task which fails aborts its uploads."""
    header = "CAST(NULL AS STRUCT<key: STRING, value: BINARY>)"
    df = messages(bucket, 5).selectExpr("*", f"IF(offset = 3, array({header}), NULL) AS headers")
    with bucket.server.order():
        with pytest.raises(StorageError, match="an element of a message's headers is null"):
            sink_of(bucket, options=replace(OPTIONS, max_rows=1)).write(df)
        kinds = Counter(in_lake(each).partition(" ")[0] for each in bucket.server.seen())
    assert kinds["ABORT"] == kinds["START"] >= 1, kinds
    assert bucket.server.uploads(bucket.name) == []
    assert segment_names(bucket) == []


@scenario
def messages_that_exist(bucket: Bucket) -> None:
    """Check that equal segments are one, which is not written again, and that others get another name."""
    lake = sink_of(bucket)
    lake.write(messages(bucket, 2), "a")
    (name,) = segment_names(bucket)
    seen = requests_of(bucket, lambda: lake.write(messages(bucket, 2), "b"))
    assert Counter(each.partition(" ")[0] for each in below_raw(seen)) == {"START": 1, "PART": 1, "HEAD": 1, "ABORT": 1}
    assert segment_names(bucket) == [name]
    lake.write(messages(bucket, 2, value="'w'"), "c")
    names = segment_names(bucket)
    assert len(names) == 2
    assert {DIGEST.sub("", each) for each in names} == {DIGEST.sub("", name)}
    assert sorted(bytes(row.value) for row in lake_of(bucket).read("t").collect()) == [b"v", b"v", b"w", b"w"]
    assert bucket.server.uploads(bucket.name) == []


@scenario
def another_writer_of_the_batch(bucket: Bucket) -> None:
    """Check that a writer whose commit is refused aborts its uploads."""
    df = messages(bucket, 2)

    class Slow(Sink):
        def write_segments(self, df: DataFrame, token: str, ending: str = "") -> pa.Table:
            written = super().write_segments(df, token, ending)
            assert sink_of(bucket).write(df, "b").is_new
            return written

    assert not Slow(bucket.spark, f"s3a://{bucket.name}/{PLACE}", "t", OPTIONS).write(df, "b").is_new
    assert bucket.server.uploads(bucket.name) == []
    assert offsets(lake_of(bucket).read("t")) == [0, 1]


@scenario
def answers_that_are_lost(bucket: Bucket) -> None:
    """Check that a request of an upload which is sent twice loses and doubles nothing."""
    for part, left in (("?uploads", 1), ("partNumber=", 0), ("?uploadId=", 0)):
        place = f"lost{part.strip('?=')}"
        with bucket.server.order(lose=part):
            assert sink_of(bucket, place).write(messages(bucket, 2), "b").is_new
        assert len(bucket.server.uploads(bucket.name, place)) == left
        assert sink_of(bucket, place).clean(AT_ONCE) == left
        assert bucket.server.uploads(bucket.name, place) == []
        assert offsets(lake_of(bucket, place).read("t")) == [0, 1]


@scenario
def an_upload_that_is_lost(bucket: Bucket) -> None:
    """Check that a committed batch whose upload was removed is an error, and not before, and that users can go on."""
    lake, df = sink_of(bucket), messages(bucket, 4, keys=2)
    with stopped_before(Completion, "complete"):
        lake.write(df, "b")
    (first, identity), _ = sorted(bucket.server.uploads(bucket.name))
    assert len(lake_of(bucket).check("t")) == 0
    bucket.server.abort_upload(bucket.name, first, identity)
    path = first.removeprefix(f"{PLACE}/")
    assert [(row["case"], row["path"]) for row in lake_of(bucket).check("t")] == [("lost", path)]
    with pytest.raises(StorageError, match="a segment of a committed batch is missing") as failed:
        sink_of(bucket).write(messages(bucket, 1), "c")
    assert failed.value.found == f"1 missing: {path.removeprefix('Raw/Topic=t/')}"
    lake_of(bucket).clean("t", older_than=AT_ONCE, abandon_lost=True)
    assert offsets(lake_of(bucket).read("t")) == [1, 3]
    assert bucket.server.uploads(bucket.name) == []


@scenario
def a_compaction_by_uploads(bucket: Bucket) -> None:
    """Check that merged segments have names of their own, and that a killed compaction is completed or undone."""
    options, merged = replace(OPTIONS, max_rows=1), replace(OPTIONS, max_millis=86_400_000)
    for place, abort in (("completed", False), ("undone", True)):
        sink_of(bucket, place, options).write(messages(bucket, 4, keys=2), "b")
        with stopped_before(Completion, "complete"):
            lake_of(bucket, place).compact("t", options=merged, older_than=AT_ONCE)
        uploads = bucket.server.uploads(bucket.name, place)
        assert len(uploads) == 2
        assert all(re.search(r"\.avro\.[0-9a-f]{40}\.[0-9a-f]{32}$", key) for key, _ in uploads), uploads
        assert offsets(lake_of(bucket, place).read("t")) == [*range(4)]
        if abort:
            bucket.server.abort_upload(bucket.name, *uploads[0])
        lake_of(bucket, place).clean("t", older_than=AT_ONCE, abandon_lost=True)
        assert offsets(lake_of(bucket, place).read("t")) == [*range(4)]
        assert bucket.server.uploads(bucket.name, place) == []
        assert len(segment_names(bucket, place)) == (4 if abort else 2)
        assert len(lake_of(bucket, place).check("t")) == 0
