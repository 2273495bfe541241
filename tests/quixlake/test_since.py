"""Reads of what is new since a token: each message comes once, whatever happens to segments between the reads."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip.quixlake
from tests.effort import cases, seeds
from tests.quixlake.changes import NOW, Changes, arrow_of, write
from tests.quixlake.lakes import START, WrittenLake, hourly, offsets, records, skipped
from tests.quixlake.written import message
from xskip.errors import DatasetError, PredicateError
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake import QuixLake
from xskip.quixlake.ranges import EVERY, NONE
from xskip.quixlake.selection import Selection
from xskip.quixlake.topic_segments import TopicSegments

#: The changes after which Spark reads, too: in a sample, the last ones.
_LATEST_FIRST = range(11, -1, -1)


def values(table: pa.Table) -> Counter[bytes]:
    return Counter(table["value"].to_pylist())


def values_of_spark(frame: DataFrame) -> Counter[bytes]:
    return Counter(bytes(row.value) for row in frame.select("value").collect())


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
        self.partial += sum(part.new not in (EVERY, NONE, None) for part in parts)
        return since, until


@pytest.mark.usefixtures("interpreted")
def test_random_changes_between_reads(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-2] [QLK-TK-3] Of two moments, a read returns what the later one has and the earlier one had not."""
    compared, partial, rounds = 0, 0, seeds(range(5))
    for seed in rounds:
        changes = Changes(spark, tmp_path / str(seed), seed)
        moments, done = Moments(changes), []
        for step in range(12):
            done.append(changes.step())
            present = values(moments.take()[1])
            for _ in range(cases(4)):
                (since, had), (until, upto) = moments.pair()
                expected = (present & values(upto)) - values(had)
                found = values(moments.opened.to_arrow("t", since=since, until=until))
                assert found == expected, (seed, done, found - expected, expected - found)
                assert values(moments.opened.to_arrow("t", since=since)) == present - values(had), (seed, done)
                compared += expected.total()
            if step in seeds(_LATEST_FIRST):
                assert values_of_spark(changes.lake.read("t", since=since, until=until)) == expected, (seed, done)
        partial += moments.partial
    assert compared > 50 * cases(4) * len(rounds)
    assert partial > len(rounds)


@pytest.mark.usefixtures("interpreted")
def test_random_changes_between_reads_of_distinct_offsets(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-5] An offset that the topic had before does not come once more."""
    copies, partial = 0, 0
    for seed in seeds(range(100, 103)):
        changes = Changes(spark, tmp_path / str(seed), seed)
        moments = Moments(changes)
        for step in range(12):
            changes.step()
            present = values(moments.take()[1])
            for _ in range(cases(4)):
                (since, had), (until, upto) = moments.pair()
                new = (present & values(upto)) - values(had)
                old = set(places(present & values(had)))
                found = values(moments.opened.to_arrow("t", since=since, until=until, distinct_offsets=True))
                assert not found - new
                assert Counter(places(found)) == Counter(set(places(new)) - old)
                copies += new.total() - found.total()
            if step in seeds(_LATEST_FIRST):
                frame = changes.lake.read("t", since=since, until=until, distinct_offsets=True)
                assert values_of_spark(frame) == found
        partial += moments.partial
    assert copies > 0
    assert partial > 0


@pytest.mark.usefixtures("interpreted")
def test_manifests_that_were_cleaned(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-4] Without manifests, a read returns the same messages or fails."""
    right, failed, partial, copies = 0, 0, 0, 0
    for seed in seeds(range(200, 205)):
        changes = Changes(spark, tmp_path / str(seed), seed)
        moments, done = Moments(changes), []
        for step in range(12):
            done.append(changes.step())
            if step % 3 == 2:
                changes.compact()
                changes.clean()
            present = values(moments.take()[1])
            for _ in range(cases(4)):
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
    lake.compact("t", older_than=NOW)
    merged = opened.token("t")
    assert opened.segments("t", listed=True).to_arrow().num_rows == 1
    monkeypatch.setattr(LocalStorage, "read", _refused(LocalStorage.read))
    for _ in range(2):
        assert len(opened.to_arrow("t", since=token)) == 0
        assert len(opened.to_arrow("t", since=merged)) == 0
        assert skipped(spark, lake.read("t", since=token)) == (0, 0)
        lake.clean("t", older_than=NOW)


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
    lake.compact("t", older_than=NOW)
    if cleans:
        lake.clean("t", older_than=NOW)
    reads: list[tuple[dict[str, Any], list[int]]] = [
        ({"since": since, "until": until}, [2, 3]),
        ({"since": since}, [2, 3, 6, 7, 8]),
        ({"since": until}, [6, 7, 8]),
        ({"until": since}, [0, 1, 4, 5]),
        ({"since": since, "offsets": (3, 8)}, [3, 6, 7]),
        ({"since": since, "keys": "other"}, []),
    ]
    frames = [lake.read("t", **each).withColumn("read", F.lit(number)) for number, (each, _) in enumerate(reads)]
    rows = reduce(DataFrame.unionAll, frames).collect()
    for number, (each, expected) in enumerate(reads):
        assert opened.to_arrow("t", **each)["offset"].to_pylist() == expected, each
        assert sorted(row.offset for row in rows if row.read == number) == expected, each


def test_a_merged_segment_without_its_manifest_that_has_other_messages(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-4] A segment of the token was removed before the compaction."""
    lake, opened = QuixLake(spark, tmp_path), xskip.quixlake.open(tmp_path)
    write(lake, records(6), max_rows=2)
    since = opened.token("t")
    (removed,) = tmp_path.glob("Raw/*/*/*/*_off_2_3.avro*")
    removed.unlink()
    write(lake, [row | {"timestamp": row["timestamp"] + 5} for row in records(1, first=2)])
    assert opened.to_arrow("t", since=since)["offset"].to_pylist() == [2]
    lake.compact("t", older_than=NOW)
    assert opened.to_arrow("t", since=since)["offset"].to_pylist() == [2]
    lake.clean("t", older_than=NOW)
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
