"""Tests of reads and replays of several topics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
import xskip.quixlake
from tests.quixlake.lakes import START, WrittenLake, hourly, records
from xskip.errors import ArgumentError, DatasetError, PredicateError
from xskip.quixlake import QuixLake, ReplayOptions
from xskip.quixlake.replay_targets import Message


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> QuixLake:
    """Return a lake with the topics t, u and v, in each the partitions 0 and 1 and in each of these 20 messages."""
    written = WrittenLake(tmp_path)
    rows = [
        written.segment(f"k{partition}", records(5, first, partition=partition), topic)
        for topic in "tuv"
        for partition in (0, 1)
        for first in range(0, 20, 5)
    ]
    written.describe(rows, exact=True)
    return QuixLake(spark, tmp_path)


def places(frame: DataFrame) -> set[tuple[str, int, int]]:
    found = [(row.topic, row.partition, row.offset) for row in frame.select("topic", "partition", "offset").collect()]
    assert len(found) == len(set(found))
    return set(found)


def product(topics: str, partitions: tuple[int, ...], offsets: range) -> set[tuple[str, int, int]]:
    return {(topic, partition, offset) for topic in topics for partition in partitions for offset in offsets}


ALL, BOTH = range(20), (0, 1)
CASES: list[tuple[dict[str, Any], set[tuple[str, int, int]]]] = [
    ({}, product("tu", BOTH, ALL)),
    ({"partitions": 1, "offsets": (3, 7)}, product("tu", (1,), range(3, 7))),
    ({"offsets": {"u": (3, 7)}}, product("t", BOTH, ALL) | product("u", BOTH, range(3, 7))),
    ({"offsets": {"t": (None, 2), "u": (19, None)}}, product("t", BOTH, range(2)) | product("u", BOTH, range(19, 20))),
    ({"partitions": {"t": 0, "u": [1]}}, product("t", (0,), ALL) | product("u", (1,), ALL)),
    ({"partitions": {"t": []}, "keys": "k0"}, product("u", (0,), ALL)),
    ({"start": START + 18_000, "distinct_offsets": True}, product("tu", BOTH, range(18, 20))),
]


@pytest.mark.parametrize(("filters", "expected"), CASES, ids=[str(filters) for filters, _ in CASES])
def test_filters(lake: QuixLake, filters: dict[str, Any], expected: set[tuple[str, int, int]]) -> None:
    """[QLK-RD-7] [QLK-AR-1]"""
    assert places(lake.read(["t", "u"], **filters)) == expected
    found = xskip.quixlake.open(lake.base).to_arrow(["u", "t", "u"], **filters).to_pylist()
    assert sorted((row["topic"], row["partition"], row["offset"]) for row in found) == sorted(expected)


def test_iterators_select_in_every_topic(lake: QuixLake) -> None:
    """[QLK-RD-7]"""
    filters: dict[str, Iterator[Any]] = {"partitions": iter([1]), "keys": iter(["k1", "k0"])}
    assert places(lake.read(("t", "v", "t"), **filters)) == product("tv", (1,), ALL)  # type: ignore[arg-type]


def test_filters_on_the_dataframe_skip_segments_of_all_topics(lake: QuixLake) -> None:
    """[QLK-RD-7] [QLK-RD-3] Also where one topic has an index of its own."""
    for _ in range(2):
        frame = lake.read(["t", "u", "v"]).filter("offset = 12")
        assert places(frame) == product("tuv", BOTH, range(12, 13))
        assert [(scan.kept, scan.files) for scan in xskip.last_report(lake.spark).scans] == [(2, 8)] * 3
        if not lake.index("u").exists():
            lake.index("u").create()
    assert places(lake.read(["t", "u"]).filter("topic = 'u' AND partition = 0 AND offset > 18")) == {("u", 0, 19)}


def test_equal_offsets_of_topics_are_no_copies(lake: QuixLake) -> None:
    """[QLK-RD-5] [QLK-RD-7]"""
    WrittenLake(Path(lake.base)).segment("k0", records(3), "u", "again.avro")
    assert lake.read(["t", "u"]).count() == 83
    assert places(lake.read(["t", "u"], distinct_offsets=True)) == product("tu", BOTH, ALL)


def test_payloads_are_decoded_once(lake: QuixLake) -> None:
    assert lake.read(["t", "u"], value="upper(string(value))").filter("value = 'VALUE 7'").count() == 4


def test_a_replay_has_the_order_of_timestamps(lake: QuixLake, tmp_path: Path) -> None:
    """[QLK-RP-1] [QLK-RP-5] A replay that continues knows the topics apart."""
    sent: list[Message] = []
    state = str(tmp_path / "state")

    def take(message: Message) -> None:
        if len(sent) == 33:
            raise RuntimeError("stop")
        sent.append(message)

    options = ReplayOptions(state=state)
    with pytest.raises(RuntimeError, match="stop"):
        lake.replay(["u", "t"], options, offsets={"t": (5, None)}).to(take)
    lake.replay(["u", "t"], options, offsets={"t": (5, None)}).to(sent.append)
    found = [(each.original_timestamp, each.partition, each.topic, each.offset) for each in sent]
    assert found == sorted(found)
    assert {place[2:0:-1] + place[3:] for place in found} == product("u", BOTH, ALL) | product("t", BOTH, range(5, 20))
    assert len(found) == 70


@pytest.mark.parametrize(
    ("topics", "filters", "error", "message"),
    [
        ([], {}, ArgumentError, "no topic is given"),
        (5, {}, ArgumentError, "topic is not a text"),
        (["t", 5], {}, ArgumentError, "topic is not a text"),
        (["t", "w"], {}, DatasetError, "no such topic"),
        (
            ["t", "u"],
            {"offsets": {"v": (0, 1)}},
            PredicateError,
            "offsets has a topic that is not selected .*found: 'v'",
        ),
        ("t", {"partitions": {"u": 1}}, PredicateError, "partitions has a topic that is not selected"),
        (["t", "u"], {"offsets": {"t": 5}}, PredicateError, "the offsets are not a pair"),
        (["t", "u"], {"partitions": {"t": "1"}}, PredicateError, "a partition is not a whole number"),
    ],
)
def test_wrong_arguments(
    lake: QuixLake, topics: Any, filters: dict[str, Any], error: type[Exception], message: str
) -> None:
    for read in (lake.read, lake.replay, xskip.quixlake.open(lake.base).to_arrow):
        with pytest.raises(error, match=message):
            read(topics, **filters)


def test_a_mapping_of_the_topic_itself(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-7] Also in discovery."""
    hourly(tmp_path)
    lake = QuixLake(spark, tmp_path)
    assert len(lake.segments("t", offsets={"t": (0, 4)}, partitions={"t": 0})) == 1
