"""Tokens of topics: their form, the lakes to which they belong, and what becomes of the segments that they have."""

from __future__ import annotations

import datetime as dt
import hashlib
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import xskip.quixlake
from tests.quixlake.changes import NOW, arrow_of, write
from tests.quixlake.lakes import START, WrittenLake, hourly, offsets, records, skipped
from tests.quixlake.written import MESSAGE, container
from xskip.errors import DatasetError, PredicateError
from xskip.metadata.data_files import DataFiles, FileStatus
from xskip.quixlake import Filters, QuixLake
from xskip.quixlake.descriptors import IndexFiles
from xskip.quixlake.names import SegmentName
from xskip.quixlake.segments import listed_segments
from xskip.quixlake.token import TopicState
from xskip.token_text import TokenForm


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
    for name in ("marks", "sizes", "groups", "first", "last", "rows", "start", "is_timed"):
        assert np.array_equal(getattr(again, name), getattr(state, name))


def _files(count: int) -> DataFiles:
    random = Random(5)
    offsets = sorted(random.sample(range(10**9), 2 * count))
    names = [
        f"Raw/Topic=t/Key=k{i % 50}/Start=2026-01-{i * 30 // count + 1:02}/ts_{i}_{i}_part_{i % 8}_off_{a}_{b}.avro"
        for i, (a, b) in enumerate(zip(offsets[::2], offsets[1::2], strict=True))
    ]
    return DataFiles.of([FileStatus(name, 10_000 + i, 0) for i, name in enumerate(names)])


def test_tokens_that_are_not_right(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-7]"""
    hourly(tmp_path / "lake")
    opened = xskip.quixlake.open(tmp_path / "lake")
    token = opened.token("t")
    wrong = {
        "": "no token", "questdb1-abc": "no token", token[:-2]: "damaged",
        token.replace("lake2", "lake3"): "another release .*or a newer one",
        TokenForm("lake", 1, "").text(b"{}"): "another release .*go on with a new token",
        token[:30] + ("A" if token[30] != "A" else "B") + token[31:]: "damaged", "lake2-": "damaged",
        TokenForm("lake", 2, "").text(b"{}"): "damaged", TokenForm("lake", 2, "").text(b"x"): "damaged",
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
    hourly(tmp_path / "other", keys=("x", "y"))
    for keys in (None, "x"):
        with pytest.raises(PredicateError, match="since is a token of another lake"):
            xskip.quixlake.open(tmp_path / "other").to_arrow("t", since=token, keys=keys)
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


def test_a_new_key_of_a_lake_that_was_moved(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-7] None of the selected segments is one of the token, but others are."""
    hourly(tmp_path / "lake")
    token = xskip.quixlake.open(tmp_path / "lake").token("t")
    shutil.move(tmp_path / "lake", tmp_path / "moved")
    WrittenLake(tmp_path / "moved").segment("new", records(3))
    for keys in ("new", ["new"], None):
        for distinct in (False, True):
            chosen: Filters = {"since": token, "keys": keys, "distinct_offsets": distinct}
            found = xskip.quixlake.open(tmp_path / "moved").to_arrow("t", **chosen)
            assert found["offset"].to_pylist() == ([] if distinct else [0, 1, 2])
            frame = QuixLake(spark, tmp_path / "moved").read("t", **chosen)
            assert offsets(frame) == found["offset"].to_pylist()


#: Two paths with the same digest of 48 bits.
_ALIKE = ("Raw/Topic=t/Key=a/Start=2026-01-01/10046217.avro", "Raw/Topic=t/Key=a/Start=2026-01-01/13165030.avro")


def test_paths_whose_digests_agree_in_48_bits() -> None:
    """[QLK-TK-1] Of a million paths, two agree in 48 bits with a chance of 1 in 563, and in 64 of 1 in 37 million."""
    short = {hashlib.blake2b(path.encode(), digest_size=6).digest() for path in _ALIKE}
    assert len(short) == 1
    files = DataFiles.of([FileStatus(_ALIKE[0], 10, 0)])
    state = TopicState.of("/lake", listed_segments(files, IndexFiles.of({}).decisive), "t")
    assert state.positions_of(_ALIKE).tolist() == [0, -1]


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> QuixLake:
    return QuixLake(spark, tmp_path / "lake")


def reads(lake: QuixLake) -> list[Callable[..., pa.Table]]:
    """Return the reads of a lake without Spark and with it."""
    return [xskip.quixlake.open(lake.base).to_arrow, lambda *a, **k: arrow_of(lake.read(*a, **k))]


def fails(lake: QuixLake, match: str, **filters: Any) -> None:
    for read in reads(lake):
        with pytest.raises((DatasetError, PredicateError), match=match):
            read("t", **filters)


def later(row: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return a descriptor that counts before an earlier one."""
    return row | {"CreatedAt": row["CreatedAt"] + timedelta(days=400)} | values


def test_messages_of_other_partitions_than_their_segment(lake: QuixLake) -> None:
    """[QLK-TK-3] Offsets select messages by their segment, and not by what it claims."""
    write(lake, [*records(2), *records(2, first=4)], max_rows=2)
    since = lake.token("t")
    write(lake, records(2, first=2))
    lake.compact("t", older_than=NOW)
    (path,) = Path(lake.base).glob("Raw/*/*/*/*_off_0_5.avro*")
    path.write_bytes(container(MESSAGE, [row | {"partition": row["offset"] % 3} for row in records(6)], "null"))
    for read in reads(lake):
        assert read("t", since=since)["offset"].to_pylist() == [2, 3]
        assert read("t", until=since)["offset"].to_pylist() == [0, 1, 4, 5]


def test_parts_of_segments_with_odd_names(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TK-3] The URIs of segments have escapes."""
    lake = QuixLake(spark, tmp_path / "läke a#b%20")
    keys = ["é%2F x", "πλ/+", "a'b?c=[1]", "\u2003\u00a0 ~^", "\U0001f600;&,"]
    write(lake, [row for key in keys for row in odd(key, keys)], max_rows=2)
    since = lake.token("t")
    write(lake, [row for key in keys for row in odd(key, keys, first=4)], max_rows=2)
    lake.compact("t", older_than=NOW)
    assert len(lake.segments("t", listed=True)) == len(keys)
    assert sorted(lake.read("t", since=since).select("stream_key", "offset").collect()) == sorted(
        (key, offset) for key in keys for offset in range(4, 8)
    )


def odd(key: str, keys: list[str], first: int = 0) -> list[dict[str, Any]]:
    return records(4, first=first, key=key.encode(), partition=keys.index(key))


def test_the_plan_of_a_read_of_parts(lake: QuixLake) -> None:
    """[QLK-TK-6] One scan, and a join that broadcasts the offsets; filters skip segments."""
    write(lake, [row for n in range(4) for row in records(4, first=10 * n, partition=n)])
    since = lake.token("t")
    write(lake, [row for n in range(4) for row in records(4, first=10 * n + 4, partition=n)])
    lake.compact("t", older_than=NOW)
    frame = lake.read("t", since=since)
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan") == 1
    assert plan.count("BroadcastHashJoin") == 1
    assert "LeftSemi" in plan
    assert "_place" not in frame.columns
    assert skipped(lake.spark, frame) == (4, 4)
    assert skipped(lake.spark, frame.filter("offset >= 30 AND partition = 3")) == (1, 4)
    assert offsets(frame.filter("offset >= 30")) == [34, 35, 36, 37]


def test_a_lake_from_a_time_before_the_token(lake: QuixLake, tmp_path: Path) -> None:
    """[QLK-TK-8] Restored to a state before a compaction, and compacted again since."""
    write(lake, records(6), max_rows=2)
    before = lake.token("t")
    shutil.copytree(lake.base, tmp_path / "backup")
    lake.compact("t", older_than=NOW)
    token = lake.token("t")
    write(lake, records(2, first=6))
    shutil.rmtree(lake.base)
    shutil.copytree(tmp_path / "backup", lake.base)
    later_state = r"is a token of a later state of the topic.*compaction 0.*compaction 1 .*read the topic whole"
    fails(lake, f"since {later_state}", since=token)
    fails(lake, f"until {later_state}", until=token)
    write(lake, records(2, first=6))
    lake.compact("t", older_than=NOW)
    fails(lake, "since is a token of a later state", since=token)
    for read in reads(lake):
        assert read("t", since=before)["offset"].to_pylist() == [6, 7]
        assert read("t", since=lake.token("t"))["offset"].to_pylist() == []


def test_a_copy_of_a_lake_without_its_manifests(lake: QuixLake, tmp_path: Path) -> None:
    """[QLK-TK-8] Its replaced segments would count again."""
    write(lake, records(6), max_rows=2)
    lake.compact("t", older_than=NOW)
    token = lake.token("t")
    shutil.copytree(lake.base, tmp_path / "copy", ignore=shutil.ignore_patterns("_xskip"))
    fails(QuixLake(lake.spark, tmp_path / "copy"), "since is a token of a later state", since=token)


@pytest.mark.parametrize("compacts", [False, True])
def test_a_topic_that_was_created_again(lake: QuixLake, compacts: bool) -> None:
    """[QLK-TK-4] [QLK-TK-8] With the same offsets, and other messages than those of the token."""
    write(lake, records(6), max_rows=2)
    if compacts:
        lake.compact("t", older_than=NOW)
    token = lake.token("t")
    shutil.rmtree(lake.base)
    write(lake, [row | {"timestamp": row["timestamp"] + 7_200_000} for row in records(6)], max_rows=2)
    if not compacts:  # the segments have other names
        for read in reads(lake):
            assert read("t", since=token)["offset"].to_pylist() == [0, 1, 2, 3, 4, 5]
    lake.compact("t", older_than=NOW)
    lake.clean("t", older_than=NOW)
    fails(lake, "a later state" if compacts else "cannot be told", since=token)


def test_a_topic_that_was_created_again_with_the_same_times(lake: QuixLake) -> None:
    """[QLK-TK-9]"""
    write(lake, records(6), max_rows=2)
    token = lake.token("t")
    shutil.rmtree(lake.base)
    write(lake, records(6), max_rows=2)
    lake.compact("t", older_than=NOW)
    lake.clean("t", older_than=NOW)
    for read in reads(lake):
        assert read("t", since=token)["offset"].to_pylist() == []


def descriptors(lake: QuixLake) -> list[dict[str, Any]]:
    """Return the descriptors of the segments of a lake in the order of their offsets."""
    found = lake.segments("t", listed=True).to_arrow().sort_by("first").to_pylist()
    return [
        {
            "Path": row["path"], "Topic": "t", "Key": row["stream_key"], "Partition": row["partition"],
            "TimestampStart": millis(row["start"]), "TimestampEnd": millis(row["end"]), "StartOffset": row["first"],
            "EndOffset": row["last"], "RecordCount": row["messages"], "FileSizeBytes": row["bytes"],
            "CreatedAt": dt.datetime.now(dt.timezone.utc), "DeletedAt": None,
        }
        for row in found
    ]  # fmt: skip


def millis(time: dt.datetime) -> int:
    return int(time.timestamp() * 1000)


@pytest.mark.parametrize("cleans", [False, True])
def test_a_stream_key_that_changes_before_a_compaction(lake: QuixLake, cleans: bool) -> None:
    """[QLK-TK-3] [QLK-TK-9] A descriptor gives segments another key: the manifest tells, and nothing else does."""
    write(lake, records(8), max_rows=2)
    token = lake.token("t")
    written = WrittenLake(Path(lake.base))
    written.describe([later(row, Key="b") for row in descriptors(lake)[:2]], exact=True)
    lake.compact("t", older_than=NOW)
    assert len(lake.segments("t", listed=True)) == 2
    if cleans:
        lake.clean("t", older_than=NOW)
        for read in reads(lake):
            assert read("t", since=token, keys="b")["offset"].to_pylist() == [0, 1, 2, 3]  # once more
        return
    fails(lake, "cannot be told .*read the topic whole", since=token)
    fails(lake, "cannot be told", until=token)
    fails(lake, "cannot be told", since=token, distinct_offsets=True)
    for read in reads(lake):
        assert read("t", since=token, offsets=(4, 8))["offset"].to_pylist() == []
        assert read("t", since=lake.token("t"))["offset"].to_pylist() == []


def test_bounds_that_change_before_a_compaction(lake: QuixLake) -> None:
    """[QLK-TK-3] The token has wider ones, within which another segment comes."""
    written = WrittenLake(Path(lake.base))
    wide = SegmentName(START, START + 9000, 0, 0, 9).text("snappy")
    row = written.segment("a", records(5, first=5), name=wide)
    token = lake.token("t")
    written.describe([row, written.segment("a", records(5))], exact=True)
    for read in reads(lake):
        assert read("t", since=token)["offset"].to_pylist() == [0, 1, 2, 3, 4]
    lake.compact("t", older_than=NOW)
    assert len(lake.segments("t", listed=True)) == 1
    fails(lake, "cannot be told", since=token)
    lake.clean("t", older_than=NOW)
    fails(lake, "cannot be told", since=token)


def test_bounds_that_come_before_a_compaction(lake: QuixLake) -> None:
    """[QLK-TK-3] The token has none."""
    written = WrittenLake(Path(lake.base))
    row = written.segment("a", records(5), name="x.avro")
    token = lake.token("t")
    written.describe([row, written.segment("a", records(5, first=5))], exact=True)
    lake.compact("t", older_than=NOW)
    assert len(lake.segments("t", listed=True)) == 1
    fails(lake, "cannot be told", since=token)


def test_a_merged_segment_whose_descriptor_changes(lake: QuixLake) -> None:
    """[QLK-TK-3] The manifest says what the segment holds."""
    write(lake, records(6), max_rows=2)
    token = lake.token("t")
    write(lake, records(2, first=6))
    lake.compact("t", older_than=NOW)
    (row,) = descriptors(lake)
    changed = later(row, Key="b", Partition=9, StartOffset=100, EndOffset=107)
    WrittenLake(Path(lake.base)).describe([changed], exact=True)
    for read in reads(lake):
        assert read("t", since=token)["offset"].to_pylist() == [6, 7]


def test_a_segment_that_found_its_name_taken(lake: QuixLake) -> None:
    """[QLK-TK-4] Its name ends with a token as those of merged segments do."""
    write(lake, records(4))
    token = lake.token("t")
    write(lake, [row | {"value": b"again"} for row in records(4)])
    assert len(lake.segments("t", listed=True)) == 2
    (first,) = Path(lake.base).glob("Raw/*/*/*/*.snappy")
    first.unlink()
    for read in reads(lake):
        assert read("t", since=token)["offset"].to_pylist() == [0, 1, 2, 3]
