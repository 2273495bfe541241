"""The order and the times of replays."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.effort import cases
from tests.quixlake.messages import Row, frame_of, merged
from xskip.errors import DatasetError
from xskip.quixlake import replay
from xskip.quixlake.replay import Replay, ReplayOptions
from xskip.quixlake.replay_pace import SystemClock

START = 1_800_000_000_000

timestamps = st.one_of(st.integers(0, 12), st.integers(-5, 10_000), st.none())
streams = st.dictionaries(
    st.tuples(st.sampled_from(["t", "u", None]), st.integers(0, 3)), st.lists(timestamps, max_size=12), max_size=6
)


pytestmark = pytest.mark.usefixtures("interpreted")
Drawn = dict[tuple[str | None, int], list[int | None]]
#: Streams with equal timestamps, of which some decrease.
EQUAL: Drawn = {("t", 1): [5, 2, 9], ("u", 0): [5, 9], (None, 1): [None, 5, 3, None, 5], ("t", 0): [5, 20]}


def rows_of(drawn: Drawn) -> list[Row]:
    return [
        Row(partition, 3 * i + 7, timestamp, topic)
        for (topic, partition), values in drawn.items()
        for i, timestamp in enumerate(values)
    ]


def by_running_maximum(rows: list[Row]) -> list[Row]:
    """Return messages sorted as Spark sorts them."""
    keys = {}
    reached: dict[tuple[str | None, int], float] = {}
    for row in sorted(rows, key=lambda row: row.offset):
        stream = row.topic, row.partition
        timestamp = float("-inf") if row.timestamp is None else row.timestamp
        reached[stream] = max(reached.get(stream, timestamp), timestamp)
        keys[row.place] = (reached[stream], row.partition, row.topic or "", row.offset)
    return sorted(rows, key=lambda row: keys[row.place])


class StartClock(SystemClock):
    """A clock that starts at a known time."""

    def epoch_ms(self) -> int:
        return START


@settings(max_examples=cases(1000))
@given(streams)
def test_the_order_by_the_running_maximum_is_that_of_the_merge(drawn: Drawn) -> None:
    """[QLK-RP-1] Timestamps can decrease within a partition."""
    rows = rows_of(drawn)
    assert by_running_maximum(rows) == merged(rows)


@example(drawn=EQUAL)
@settings(max_examples=cases(8))
@given(drawn=streams)
def test_spark_orders_as_the_merge_does(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, drawn: Drawn) -> None:
    """[QLK-RP-1] The frame has the order of the merge, with streams of several topics, in several partitions."""
    monkeypatch.setattr(replay, "_CHUNK", 500)
    rows = rows_of(drawn)
    frame = Replay(frame_of(spark, rows), ReplayOptions()).frame()
    assert (frame.rdd.getNumPartitions() > 1) == (len(rows) >= 5)
    assert [(r.topic, r.partition, r.offset) for r in frame.collect()] == [row.place for row in merged(rows)]


def expected_times(rows: list[Row], maximum: int | None) -> list[int | None]:
    """Return the moved timestamps of messages in order, with gaps shortened to a maximum."""
    reached: int | None = None
    removed, first, times = 0, None, []
    for row in rows:
        if row.timestamp is not None and (reached is None or row.timestamp > reached):
            gap = 0 if reached is None else row.timestamp - reached
            removed += 0 if maximum is None else max(gap - maximum, 0)
            reached = row.timestamp
            first = row.timestamp if first is None else first
        times.append(None if row.timestamp is None else row.timestamp - removed - (first or 0) + START)
    return times


@example(drawn=EQUAL, maximum=1)
@settings(max_examples=cases(8))
@given(drawn=streams, maximum=st.sampled_from([None, 0, 1, 5, 700]))
def test_moved_timestamps_begin_with_the_replay(spark: SparkSession, drawn: Drawn, maximum: int | None) -> None:
    """[QLK-RP-3] [QLK-RP-4] Timestamps move by one constant, and gaps longer than the maximum become shorter."""
    rows = merged(rows_of(drawn))
    options = ReplayOptions(timestamps="moved", max_gap_ms=maximum)
    found = Replay(frame_of(spark, rows), options, StartClock()).frame().collect()
    assert [r.timestamp for r in found] == expected_times(rows, maximum)
    assert [r.original_timestamp for r in found] == [row.timestamp for row in rows]


def test_the_frame_has_the_columns_of_a_read_and_the_original_timestamps(spark: SparkSession) -> None:
    """[QLK-RP-2] [QLK-RP-4] Key, value and headers are those of the lake, and ``time`` follows ``timestamp``."""
    rows = [Row(0, 0, 5, headers=(("a", "x"), ("b", b"\xff"), ("c", None)), value=None, key=None), Row(1, 0, 9)]
    df = frame_of(spark, rows)
    moved = Replay(df, ReplayOptions(timestamps="moved"), StartClock()).frame()
    assert moved.columns == [*df.columns, "original_timestamp"]
    assert [r[0] for r in moved.selectExpr("unix_millis(time)").collect()] == [START, START + 4]
    original = Replay(df, ReplayOptions()).frame()
    assert sorted(original.drop("original_timestamp").collect()) == sorted(df.collect())
    current = Replay(df, ReplayOptions(timestamps="current")).frame()
    assert [(r.timestamp, r.original_timestamp) for r in current.collect()] == [(None, 5), (None, 9)]


def test_a_suffix_is_added_to_keys_that_are_not_null(spark: SparkSession) -> None:
    """[QLK-RP-2] The bytes of the key stay as they are before the suffix."""
    rows = [Row(0, 0, 1, key=b"\xff"), Row(0, 1, 2, key=None), Row(0, 2, 3, key=b"")]
    frame = Replay(frame_of(spark, rows), ReplayOptions(key_suffix="-é")).frame()
    assert [r.key for r in frame.collect()] == [b"\xff-\xc3\xa9", None, b"-\xc3\xa9"]


def test_other_columns_are_refused(spark: SparkSession) -> None:
    df = spark.sql("select 1 as timestamp, cast(null as binary) as key")
    with pytest.raises(DatasetError, match="timestamp: int, headers: no such column"):
        Replay(df, ReplayOptions())


@pytest.mark.parametrize("column", ["partition", "offset"])
def test_messages_without_a_place_are_refused(spark: SparkSession, column: str) -> None:
    """[QLK-RP-1] A message without partition or offset has no place in the order."""
    rows = frame_of(spark, [Row(0, 0, 1), Row(0, 1, 2)])
    df = rows.withColumn(column, F.expr(f"if(timestamp = 2, null, {column})"))
    with pytest.raises(DatasetError, match="1 message without one of them"):
        Replay(df, ReplayOptions()).frame()
