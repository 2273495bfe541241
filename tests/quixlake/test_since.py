"""Reads of what is new since a token: each message comes once, whatever happens to segments between the reads."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip.quixlake
from tests.quixlake.lakes import DAY, START, WrittenLake, hourly, offsets, records, skipped
from tests.quixlake.written import message
from xskip.errors import DatasetError, PredicateError
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake import QuixLake, SinkOptions
from xskip.quixlake.descriptors import IndexFiles, describe
from xskip.quixlake.ranges import EVERY, NONE
from xskip.quixlake.segments import listed_segments
from xskip.quixlake.selection import Selection
from xskip.quixlake.token import TopicState
from xskip.quixlake.topic_segments import TopicSegments
from xskip.token_text import TokenForm

#: A limit in the future, so that compactions and cleanings take files of any age.
_NOW = timedelta(minutes=-1)
_SCHEMA = "timestamp BIGINT, key BINARY, value BINARY, partition BIGINT, offset BIGINT"


def values(table: pa.Table) -> Counter[bytes]:
    return Counter(table["value"].to_pylist())


def values_of_spark(frame: DataFrame) -> Counter[bytes]:
    return Counter(bytes(row.value) for row in frame.select("value").collect())


def write(lake: QuixLake, rows: list[dict[str, Any]], **options: Any) -> None:
    columns = [part.split()[0] for part in _SCHEMA.split(", ")]
    frame = lake.spark.createDataFrame([tuple(row[name] for name in columns) for row in rows], _SCHEMA)
    lake.write(frame, "t", options=SinkOptions(**options))


class Changes:
    """A lake that changes at random. No two messages have the same value, so that copies of an offset differ."""

    def __init__(self, spark: SparkSession, base: Path, seed: int) -> None:
        self.lake, self.random = QuixLake(spark, base), Random(seed)
        self.base, self.written = base, WrittenLake(base)
        self._number = 0
        self._next = dict.fromkeys([("a", 0), ("b", 0), ("a", 1), (None, 1)], 0)
        self._gaps: list[tuple[str | None, int, list[int]]] = []
        self._sent: list[tuple[str | None, int, list[int]]] = []
        self._deleted: list[Path] = []
        self.write()

    def step(self) -> str:
        change = self.random.choice(
            [self.write, self.write, self.late, self.again, self.foreign, self.delete, self.restore, self.remove]
            + [self.compact] * 3
        )
        change()
        return change.__name__

    def rows(self, key: str | None, partition: int, offsets: list[int]) -> list[dict[str, Any]]:
        found = []
        for offset in offsets:
            self._number += 1
            day = DAY * (offset // 40)
            found.append(
                message(
                    offset, timestamp=START + day + offset, key=None if key is None else key.encode(),
                    partition=partition, value=f"{self._number} {partition} {offset}".encode(),
                )
            )  # fmt: skip
        return found

    def write(self) -> None:
        """Write a batch whose offsets follow those before, and leave some of them for later."""
        rows = []
        for key, partition in self.random.sample(sorted(self._next, key=str), self.random.randint(1, 3)):
            first = self._next[key, partition]
            offsets = list(range(first, first + self.random.randint(2, 12)))
            self._next[key, partition] = offsets[-1] + 1
            if self.random.random() < 0.4:
                cut = self.random.choice([offsets[1::2], offsets[: len(offsets) // 2]])
                self._gaps.append((key, partition, cut))
                offsets = [each for each in offsets if each not in cut]
            self._sent.append((key, partition, offsets))
            rows += self.rows(key, partition, offsets)
        write(self.lake, rows, max_rows=self.random.choice([2, 5, 100]))

    def late(self) -> None:
        """Write offsets that were left out before."""
        if self._gaps:
            key, partition, offsets = self._gaps.pop(self.random.randrange(len(self._gaps)))
            self._sent.append((key, partition, offsets))
            write(self.lake, self.rows(key, partition, offsets))

    def again(self) -> None:
        """Write offsets that are there."""
        if not self._sent:
            return
        key, partition, offsets = self.random.choice(self._sent)
        rows = self.rows(key, partition, offsets[: self.random.randint(1, len(offsets))])
        # another time gives the segment a name of its own, which a cleaning can have made free
        write(self.lake, [row | {"timestamp": row["timestamp"] + 1000 + self._number} for row in rows])

    def foreign(self) -> None:
        """Write a segment as another writer does, also without a descriptor, or with a name that claims nothing."""
        key, partition = self.random.choice(sorted(self._next, key=str))
        first = self._next[key, partition]
        self._next[key, partition] += 3
        name = None if self.random.random() < 0.7 else f"x{self._number}.avro"
        row = self.written.segment(key, self.rows(key, partition, list(range(first, first + 3))), name=name)
        if self.random.random() < 0.6:
            self.written.describe([row])

    def segments(self) -> list[Path]:
        found = self.lake.segments("t", listed=True).to_arrow()["path"].to_pylist()
        return [self.base / path for path in found]

    def delete(self) -> None:
        """Mark segments as deleted by further descriptors."""
        found = self.segments()
        for path in self.random.sample(found, min(len(found), self.random.randint(0, 2))):
            self._mark(path, dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc))
            self._deleted.append(path)

    def restore(self) -> None:
        for path in self._deleted:
            if path.exists():
                self._mark(path, None)
        self._deleted.clear()

    def _mark(self, path: Path, deleted: dt.datetime | None) -> None:
        below = path.relative_to(self.base)
        rows = self.lake._store.index_files(["Topic=t"]).descriptors.to_pylist()
        own = [row for row in rows if row["below"] == str(below)]
        latest = max(own, key=lambda row: row["created"], default=None)
        self._number += 1
        created = dt.datetime.now(dt.timezone.utc) + timedelta(days=1, seconds=self._number)
        names = {
            "Topic": "topic", "Key": "stream_key", "Partition": "partition", "TimestampStart": "start",
            "TimestampEnd": "end", "StartOffset": "first", "EndOffset": "last", "RecordCount": "rows",
        }  # fmt: skip
        row = {name: None if latest is None else latest[column] for name, column in names.items()}
        row |= {"Path": str(path), "FileSizeBytes": path.stat().st_size, "CreatedAt": created, "DeletedAt": deleted}
        row["Topic"] = "t"
        if latest is None:
            (key,) = [part[4:] for part in below.parts if part.startswith("Key=")]
            row |= {"Key": None if key.startswith("__HIVE") else key, "Partition": None}
        self.written._files += 1
        folder = self.base / "Metadata" / below.parts[1] / below.parts[2]
        folder.mkdir(parents=True, exist_ok=True)
        is_exact = latest is not None and latest["exact"]
        (folder / f"index_raw_9_{self.written._files}.parquet").write_bytes(describe([row], exact=bool(is_exact)))

    def remove(self) -> None:
        """Remove a segment; no other one gets its name."""
        rows = self.lake.segments("t", listed=True).to_arrow().to_pylist()
        if len(rows) > 3:
            row = self.random.choice(rows)
            (self.base / row["path"]).unlink()
            first, last = row["first"] or 0, row["last"] or 1 << 60
            self._sent = [each for each in self._sent if each[2][-1] < first or each[2][0] > last]

    def compact(self) -> None:
        options = SinkOptions(max_rows=self.random.choice([6, 1000]), max_millis=DAY)
        self.lake.compact("t", older_than=_NOW, options=options)

    def clean(self) -> None:
        self.lake.clean("t", older_than=_NOW)


class Moments:
    """The tokens of a lake at several moments, with all messages that it had then."""

    def __init__(self, changes: Changes) -> None:
        self.changes, self.opened = changes, xskip.quixlake.open(changes.base)
        self.known: list[tuple[str, pa.Table]] = []
        #: The number of segments of which reads returned some of the messages.
        self.partial = 0
        self.take()

    def take(self) -> tuple[str, pa.Table]:
        self.known.append((self.opened.token("t"), self.opened.to_arrow("t")))
        return self.known[-1]

    def pair(self) -> tuple[tuple[str, pa.Table], tuple[str, pa.Table]]:
        """Return two moments, of which the latter is often the last one."""
        random = self.changes.random
        since, until = random.choice(self.known), self.known[-1] if random.random() < 0.7 else random.choice(self.known)
        selection = Selection.of("t", {"since": since[0], "until": until[0]})
        listing = TopicSegments(self.opened._store, "t")
        parts = listing.parts(selection, listing.segments())
        assert parts is not None
        self.partial += sum(part.new not in (EVERY, NONE) for part in parts)
        return since, until


def test_random_changes_between_reads(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-2] [QLK-TK-3] Of two moments, a read returns what the later one has and the earlier one had not."""
    compared, partial = 0, 0
    for seed in range(5):
        changes = Changes(spark, tmp_path / str(seed), seed)
        moments, done = Moments(changes), []
        for _ in range(12):
            done.append(changes.step())
            present = values(moments.take()[1])
            for _ in range(4):
                (since, had), (until, upto) = moments.pair()
                expected = (present & values(upto)) - values(had)
                found = values(moments.opened.to_arrow("t", since=since, until=until))
                assert found == expected, (seed, done, found - expected, expected - found)
                assert values(moments.opened.to_arrow("t", since=since)) == present - values(had), (seed, done)
                compared += expected.total()
            assert values_of_spark(changes.lake.read("t", since=since, until=until)) == expected, (seed, done)
        partial += moments.partial
    assert compared > 1000
    assert partial > 5


def test_random_changes_between_reads_of_distinct_offsets(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-5] An offset that the topic had before does not come once more."""
    copies, partial = 0, 0
    for seed in range(100, 103):
        changes = Changes(spark, tmp_path / str(seed), seed)
        moments = Moments(changes)
        for _ in range(10):
            changes.step()
            present = values(moments.take()[1])
            for _ in range(3):
                (since, had), (until, upto) = moments.pair()
                new = (present & values(upto)) - values(had)
                old = set(places(present & values(had)))
                found = values(moments.opened.to_arrow("t", since=since, until=until, distinct_offsets=True))
                assert not found - new
                assert Counter(places(found)) == Counter(set(places(new)) - old)
                copies += new.total() - found.total()
            frame = changes.lake.read("t", since=since, until=until, distinct_offsets=True)
            assert values_of_spark(frame) == found
        partial += moments.partial
    assert copies > 0
    assert partial > 0


def test_manifests_that_were_cleaned(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-4] Without manifests, a read returns the same messages or fails."""
    right, failed, partial, copies = 0, 0, 0, 0
    for seed in range(200, 205):
        changes = Changes(spark, tmp_path / str(seed), seed)
        moments, done = Moments(changes), []
        for step in range(12):
            done.append(changes.step())
            if step % 3 == 2:
                changes.compact()
                changes.clean()
            present = values(moments.take()[1])
            for _ in range(4):
                (since, had), (until, upto) = moments.pair()
                expected = (present & values(upto)) - values(had)
                try:
                    found = values(moments.opened.to_arrow("t", since=since, until=until))
                except DatasetError:
                    failed += 1
                    with pytest.raises(DatasetError, match="cannot be told"):
                        changes.lake.read("t", since=since, until=until)
                    continue
                # without manifests, a copy of a deleted segment of the token counts as this segment
                missing = expected - found
                assert not found - expected, (seed, done, found - expected)
                assert set(places(missing)) <= set(places(values(had) - present)), (seed, done, missing)
                copies += missing.total()
                right += 1
            if step % 3 == 2:
                with contextlib.suppress(DatasetError):
                    frame = changes.lake.read("t", since=since, until=until)
                    assert values_of_spark(frame) == found
        partial += moments.partial
    assert right > 5 * failed
    assert copies < right / 20
    assert partial > 0


def place_of(value: bytes) -> tuple[int, int]:
    _, partition, offset = value.split()
    return int(partition), int(offset)


def places(found: Counter[bytes]) -> list[tuple[int, int]]:
    return [place_of(value) for value in found]


def test_tokens_of_one_lake(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-1] With and without Spark, a token is the same text."""
    hourly(tmp_path)
    lake, opened = QuixLake(spark, tmp_path), xskip.quixlake.open(tmp_path)
    token = opened.token("t")
    assert lake.token("t") == token == opened.token("t")
    assert token.replace("-", "").replace("_", "").isalnum()
    assert len(opened.to_arrow("t", since=token)) == 0
    assert len(opened.to_arrow("t", until=f"{token}\n")) == 48  # as from a file
    assert lake.read("t", since=token).schema == lake.read("t").schema
    assert lake.read("t", since=token).count() == 0


def test_the_length_of_a_token(tmp_path: Path) -> None:
    """[QLK-TK-1]"""
    segments = listed_segments(_files(20_000), IndexFiles.of({}).decisive)
    state = TopicState.of("/lake", segments, "t")
    assert len(state.text()) < 21 * 20_000
    again = TopicState.parse(state.text(), "since", "t")
    for name in ("marks", "groups", "first", "last", "rows"):
        assert np.array_equal(getattr(again, name), getattr(state, name))


def _files(count: int) -> DataFiles:
    random = Random(5)
    offsets = sorted(random.sample(range(10**9), 2 * count))
    names = [
        f"Raw/Topic=t/Key=k{i % 50}/Start=2026-01-{i * 30 // count + 1:02}/ts_{i}_{i}_part_{i % 8}_off_{a}_{b}.avro"
        for i, (a, b) in enumerate(zip(offsets[::2], offsets[1::2], strict=True))
    ]
    return DataFiles.of([FileStatus(name, 10_000 + i, 0) for i, name in enumerate(names)])


@pytest.mark.parametrize("distinct", [False, True])
def test_only_segments_with_new_messages_are_opened(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distinct: bool
) -> None:
    """[QLK-TK-6]"""
    written = hourly(tmp_path, exact=True)
    opened = xskip.quixlake.open(tmp_path)
    token = opened.token("t")
    written.describe([written.segment("a", [message(100 + i, timestamp=START + i) for i in range(3)])])
    until = opened.token("t")
    written.segment("b", [message(200 + i, timestamp=START + i, partition=1) for i in range(3)])
    names: list[str] = []
    original = LocalStorage.read

    def noted(storage: LocalStorage, path: str) -> bytes:
        names.extend([path] if ".avro" in path else [])
        return original(storage, path)

    monkeypatch.setattr(LocalStorage, "read", noted)
    found = opened.to_arrow("t", since=token, until=until, distinct_offsets=distinct)
    assert found["offset"].to_pylist() == [100, 101, 102]
    assert len(names) == 1
    assert opened.to_arrow("t", since=until, distinct_offsets=distinct)["offset"].to_pylist() == [200, 201, 202]
    assert len(names) == 2
    assert skipped(spark, QuixLake(spark, tmp_path).read("t", since=token, distinct_offsets=distinct)) == (2, 2)


def test_a_merged_segment_of_old_messages_is_not_opened(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-TK-3] [QLK-TK-6] With its manifest, and after the manifest was cleaned."""
    lake, opened = QuixLake(spark, tmp_path), xskip.quixlake.open(tmp_path)
    write(lake, records(6), max_rows=2)
    token = opened.token("t")
    lake.compact("t", older_than=_NOW)
    merged = opened.token("t")
    assert opened.segments("t", listed=True).to_arrow().num_rows == 1
    monkeypatch.setattr(LocalStorage, "read", _refused(LocalStorage.read))
    for _ in range(2):
        assert len(opened.to_arrow("t", since=token)) == 0
        assert len(opened.to_arrow("t", since=merged)) == 0
        assert skipped(spark, lake.read("t", since=token)) == (0, 0)
        lake.clean("t", older_than=_NOW)


def _refused(read: Callable[[LocalStorage, str], bytes]) -> Callable[[LocalStorage, str], bytes]:
    def refusing(storage: LocalStorage, path: str) -> bytes:
        assert ".avro" not in path
        return read(storage, path)

    return refusing


@pytest.mark.parametrize("cleans", [False, True])
def test_a_merged_segment_with_new_messages(spark: SparkSession, tmp_path: Path, cleans: bool) -> None:
    """[QLK-TK-3] [QLK-TK-4] A late segment between old ones, and a later one."""
    lake, opened = QuixLake(spark, tmp_path), xskip.quixlake.open(tmp_path)
    write(lake, [*records(2), *records(2, first=4)], max_rows=2)
    since = opened.token("t")
    write(lake, records(2, first=2))
    until = opened.token("t")
    write(lake, records(3, first=6))
    lake.compact("t", older_than=_NOW)
    if cleans:
        lake.clean("t", older_than=_NOW)
    for read in (opened.to_arrow, lambda *a, **k: arrow_of(lake.read(*a, **k))):
        assert read("t", since=since, until=until)["offset"].to_pylist() == [2, 3]
        assert read("t", since=since)["offset"].to_pylist() == [2, 3, 6, 7, 8]
        assert read("t", since=until)["offset"].to_pylist() == [6, 7, 8]
        assert read("t", until=since)["offset"].to_pylist() == [0, 1, 4, 5]
        assert read("t", since=since, offsets=(3, 8))["offset"].to_pylist() == [3, 6, 7]
        assert read("t", since=since, keys="other")["offset"].to_pylist() == []


def arrow_of(frame: DataFrame) -> pa.Table:
    return pa.table({"offset": sorted(row.offset for row in frame.collect())})


def test_a_merged_segment_without_its_manifest_that_has_other_messages(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-4] A segment of the token was removed before the compaction."""
    lake, opened = QuixLake(spark, tmp_path), xskip.quixlake.open(tmp_path)
    write(lake, records(6), max_rows=2)
    since = opened.token("t")
    (removed,) = tmp_path.glob("Raw/*/*/*/*_off_2_3.avro*")
    removed.unlink()
    write(lake, [row | {"timestamp": row["timestamp"] + 5} for row in records(1, first=2)])
    assert opened.to_arrow("t", since=since)["offset"].to_pylist() == [2]
    lake.compact("t", older_than=_NOW)
    assert opened.to_arrow("t", since=since)["offset"].to_pylist() == [2]
    lake.clean("t", older_than=_NOW)
    for read in (opened.to_arrow, lake.read):
        with pytest.raises(DatasetError, match=r"merged segment cannot be told .*read more often"):
            read("t", since=since)
    assert opened.to_arrow("t", since=opened.token("t")).num_rows == 0


def test_a_batch_that_is_sent_again(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-2] [QLK-TK-5] The same messages in a further segment are new, unless offsets are distinct."""
    lake, opened = QuixLake(spark, tmp_path), xskip.quixlake.open(tmp_path)
    write(lake, records(4))
    token = opened.token("t")
    write(lake, [row | {"value": b"again"} for row in records(6)])
    assert opened.to_arrow("t", since=token)["offset"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert opened.to_arrow("t", since=token, distinct_offsets=True)["offset"].to_pylist() == [4, 5]
    assert offsets(lake.read("t", since=token, distinct_offsets=True)) == [4, 5]
    assert opened.to_arrow("t", since=token, offsets=(3, 5), distinct_offsets=True)["offset"].to_pylist() == [4]


def test_deleted_and_restored_segments(tmp_path: Path) -> None:
    """[QLK-TK-2]"""
    written = WrittenLake(tmp_path)
    rows = [written.segment("a", records(2, first=first)) for first in (0, 2, 4)]
    gone = dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc)
    written.describe([*rows[:2], rows[2] | {"DeletedAt": gone}])
    opened = xskip.quixlake.open(tmp_path)
    token = opened.token("t")
    later = {"CreatedAt": gone}
    written.describe([rows[1] | later | {"DeletedAt": gone}, rows[2] | later])
    assert opened.to_arrow("t", since=token)["offset"].to_pylist() == [4, 5]
    second = opened.token("t")
    written.describe([rows[1] | {"CreatedAt": gone + timedelta(1)}])
    assert opened.to_arrow("t", since=token)["offset"].to_pylist() == [4, 5]
    assert opened.to_arrow("t", since=second)["offset"].to_pylist() == [2, 3]


def test_several_topics(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-2] [QLK-TK-7] Each topic has a token of its own."""
    written = WrittenLake(tmp_path)
    for topic in ("t", "u"):
        written.segment("a", records(2), topic=topic)
    opened, lake = xskip.quixlake.open(tmp_path), QuixLake(spark, tmp_path)
    tokens = {topic: opened.token(topic) for topic in ("t", "u")}
    written.segment("a", records(3, first=10), topic="u")
    for read in (opened.to_arrow, lambda *a, **k: arrow_of(lake.read(*a, **k))):
        assert read(["t", "u"], since=tokens)["offset"].to_pylist() == [10, 11, 12]
        assert sorted(read(["t", "u"], since={"t": tokens["t"]})["offset"].to_pylist()) == [0, 1, 10, 11, 12]
    with pytest.raises(PredicateError, match="since is one token for several topics"):
        opened.to_arrow(["t", "u"], since=tokens["t"])
    with pytest.raises(PredicateError, match="until has a topic that is not selected"):
        opened.to_arrow("t", until=tokens)
    with pytest.raises(PredicateError, match="since is a token of another topic"):
        opened.to_arrow("u", since=tokens["t"])


def test_tokens_that_are_not_right(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-7]"""
    hourly(tmp_path / "lake")
    opened = xskip.quixlake.open(tmp_path / "lake")
    token = opened.token("t")
    wrong = {
        "": "no token", "questdb1-abc": "no token", token[:-2]: "damaged",
        token.replace("lake1", "lake2"): "another release",
        token[:30] + ("A" if token[30] != "A" else "B") + token[31:]: "damaged", "lake1-": "damaged",
        TokenForm("lake", 1, "").text(b"{}"): "damaged", TokenForm("lake", 1, "").text(b"x"): "damaged",
    }  # fmt: skip
    for text, found in wrong.items():
        for argument in ("since", "until"):
            with pytest.raises(PredicateError, match=f"{argument} is .*{found}"):
                opened.to_arrow("t", **{argument: text})  # type: ignore[arg-type]
    for value in (5, b"x", [token]):
        with pytest.raises(PredicateError, match="since is no token"):
            opened.to_arrow("t", since=value)  # type: ignore[arg-type]
    with pytest.raises(PredicateError, match="tokens select messages"):
        opened.segments("t", since=token)


def test_other_lakes(tmp_path: Path) -> None:
    """[QLK-TK-7] A lake that was moved keeps its tokens."""
    hourly(tmp_path / "lake")
    token = xskip.quixlake.open(tmp_path / "lake").token("t")
    hourly(tmp_path / "other", keys=("x",))
    with pytest.raises(PredicateError, match="since is a token of another lake"):
        xskip.quixlake.open(tmp_path / "other").to_arrow("t", since=token)
    shutil.move(tmp_path / "lake", tmp_path / "moved")
    assert len(xskip.quixlake.open(tmp_path / "moved").to_arrow("t", since=token)) == 0


def test_a_segment_that_was_rewritten(tmp_path: Path) -> None:
    """[QLK-TK-2]"""
    written = WrittenLake(tmp_path)
    written.segment("a", records(2), name="x.avro")
    opened = xskip.quixlake.open(tmp_path)
    token = opened.token("t")
    written.segment("a", records(5), name="x.avro")
    with pytest.raises(PredicateError, match=r"a segment was rewritten since the token .*x.avro"):
        opened.to_arrow("t", since=token)
