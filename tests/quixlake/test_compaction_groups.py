"""Tests of the choice of segments to merge, against a plain model of the sink."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.quixlake.lakes import START, hourly
from xskip.quixlake import QuixLake, SinkOptions
from xskip.quixlake.compaction_groups import gainful, mergeable
from xskip.quixlake.manifests import SEGMENTS
from xskip.quixlake.segments import SEGMENT
from xskip.quixlake.sink import Sink

Messages = list[tuple[int, int]]
DATE = dt.date(2025, 8, 21)


def written(messages: Messages, options: SinkOptions) -> list[Messages]:
    """Return the segments that the sink writes for the offsets and timestamps of messages [QLK-SK-2]."""
    found: list[Messages] = []
    for message in messages:
        current = found[-1] if found else None
        is_full = current is not None and options.max_rows is not None and len(current) >= options.max_rows
        if current is None or is_full or message[1] - current[0][1] > options.max_millis:
            found.append([])
        found[-1].append(message)
    return found


def segments(groups: list[Messages], **fields: Any) -> pa.Table:
    rows = []
    for own in groups:
        offsets, times = zip(*own, strict=True)
        bounds = {"first": offsets[0], "last": offsets[-1], "start": min(times), "end": max(times), "rows": len(own)}
        row = {"path": f"{offsets[0]}", "stream_key": "k", "partition": 0, "date": DATE, "is_exact": True}
        rows.append(row | bounds | fields)
    return pa.Table.from_pylist(rows, SEGMENT)


@pytest.mark.parametrize("seed", range(300))
def test_groups_that_gain_are_merged(seed: int) -> None:
    """[QLK-CP-1] [QLK-CP-7] A group that the sink would write into fewer segments is never left out."""
    rng = random.Random(seed)
    times = [0]
    for _ in range(rng.randrange(1, 60)):
        times.append(times[-1] + rng.choice((0, 1, 3, 10, 40, -5, -30)))
    messages: Messages = list(enumerate(times))
    small = SinkOptions(max_rows=rng.choice((1, 2, 5)), max_millis=rng.choice((0, 5, 30)))
    large = SinkOptions(max_rows=rng.choice((None, 2, 5, 9)), max_millis=rng.choice((0, 5, 30, 100)))
    before = segments(written(messages, small))
    chosen = mergeable(before, large)
    assert len(chosen) in (0, len(before))
    if len(written(messages, large)) < len(before):
        assert len(chosen) == len(before)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (SinkOptions(max_rows=4, max_millis=10_000), 0),
        (SinkOptions(max_rows=5, max_millis=10_000), 5),
        (SinkOptions(max_millis=96), 0),
        (SinkOptions(max_millis=97), 5),
        (SinkOptions(max_rows=4, max_millis=97), 0),
    ],
)
def test_groups_without_gain_are_left_out(options: SinkOptions, count: int) -> None:
    """[QLK-CP-7]"""
    groups = [[(4 * i + j, 100 * i + j) for j in range(4)] for i in range(5)]
    assert len(mergeable(segments(groups), options)) == count


def test_each_group_counts_for_itself() -> None:
    """[QLK-CP-7]"""
    groups = [[(i, i)] for i in range(2)]
    full = segments([[(2 * i + j, i) for j in range(2)] for i in range(2)], stream_key="full")
    tables = [segments(groups), segments(groups, stream_key=None), full, segments(groups[:1], partition=1)]
    chosen = mergeable(pa.concat_tables(tables), SinkOptions(max_rows=2))
    assert chosen["stream_key"].to_pylist() == ["k", "k", None, None]
    assert len(mergeable(chosen.slice(0, 0), SinkOptions())) == 0


def test_segments_in_no_order_of_offsets_are_merged() -> None:
    """[QLK-CP-7] Limits of time prove nothing where the offsets of segments overlap or are unknown."""
    groups = [[(0, 0), (3, 1)], [(1, 1000), (2, 1001)]]
    assert len(mergeable(segments(groups), SinkOptions(max_millis=10))) == 2
    assert len(mergeable(segments([[(0, 0)], [(1, 1000)]], first=None), SinkOptions(max_millis=10))) == 2
    assert len(mergeable(segments([[(0, 0)], [(1, 1000)]]), SinkOptions(max_millis=10))) == 0


def test_partitions_with_fewer_segments_count() -> None:
    """[QLK-CP-1]"""

    def new(*rows: tuple[str | None, int]) -> pa.Table:
        names: dict[str, Any] = dict.fromkeys(SEGMENTS.names[4:-1], 0)
        return pa.Table.from_pylist([names | {"stream_key": key, "rows": count} for key, count in rows], SEGMENTS)

    groups = [[(i, i)] for i in range(2)]
    chosen = pa.concat_tables([segments(groups, stream_key=key) for key in ("a", None)])
    replaced, added = gainful(chosen, new(("a", 1), ("a", 1), (None, 2)))
    assert (replaced.tolist(), added.tolist()) == ([False, False, True, True], [False, False, True])
    # with other numbers of rows than descriptors claim, the whole counts
    replaced, added = gainful(chosen, new(("a", 1), ("a", 2), (None, 1)))
    assert replaced.all()
    assert added.all()
    replaced, added = gainful(chosen, new(("a", 1), ("a", 1), ("b", 1), (None, 1)))
    assert not replaced.any()
    assert not added.any()


def test_a_compaction_without_gain_rewrites_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-CP-7]"""
    hourly(tmp_path, ("a", "b"), exact=True)
    calls = []

    def write(self: Sink, df: DataFrame, token: str, ending: str) -> Any:
        calls.append(token)
        raise AssertionError

    monkeypatch.setattr(Sink, "write_segments", write)
    lake = QuixLake(spark, str(tmp_path))
    now = dt.timedelta(minutes=-1)
    assert lake.compact("t", older_than=now, options=SinkOptions(max_rows=4)).replaced == 0
    assert lake.compact("t", older_than=now, options=SinkOptions(max_millis=1_799_999)).replaced == 0
    assert calls == []


def test_partitions_without_gain_stay(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-1] [QLK-SK-7] Segments of a key with a tombstone stay, and those of another key are merged."""
    columns = "timestamp LONG, key BINARY, value BINARY, partition INT, offset LONG"
    lake = QuixLake(spark, str(tmp_path))
    for i, value in enumerate((b"v", None)):
        rows = [(START + i, b"a", value, 0, 10 + i), (START + i, b"b", b"v", 0, i)]
        lake.write(spark.createDataFrame(rows, columns), "t")
    assert len(lake.segments("t")) == 4
    found = lake.compact("t", older_than=dt.timedelta(minutes=-1))
    assert (found.replaced, found.added, found.messages) == (2, 1, 2)
    assert [row["stream_key"] for row in lake.segments("t", listed=True)].count("a") == 2
    assert lake.read("t").count() == 4
    assert not list(tmp_path.rglob("._xskip-*"))
    assert len(lake.check("t")) == 0
