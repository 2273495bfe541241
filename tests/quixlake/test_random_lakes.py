"""Random lakes: whatever descriptors and names claim, a read returns the messages that a plain filter selects."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.quixlake.lakes import DAY, START, WrittenLake, identity
from tests.quixlake.written import message
from xskip.quixlake import QuixLake
from xskip.quixlake.names import SegmentName
from xskip.quixlake.selection import Trust

KEYS = ("a", "a/b", "10", "", None, "é%2F x", "2024-01-01")
#: The last milliseconds before midnight, so that segments run over it.
LATE = START + DAY - 3000
Message = dict[str, Any]


def random_lake(base: Path, rng: random.Random, *, ordered: bool) -> WrittenLake:
    """Write a lake with gaps, late messages, equal timestamps, and claims that are true, absent, stale or doubled.

    Without ``ordered`` the claimed timestamps are those of the first and the last message, which bound nothing.
    """
    lake = WrittenLake(base)
    described: list[Message] = []
    for partition, key in enumerate(rng.sample(KEYS, rng.randint(1, 4))):
        offset, time = rng.randrange(100), rng.choice((START, LATE))
        for _ in range(rng.randint(1, 5)):
            rows: list[Message] = []
            for _ in range(rng.randint(1, 6)):
                offset += rng.choice((1, 1, 1, 7))
                time += rng.choice((0, 0, 1, 500, 3000))
                late = 0 if ordered else rng.choice((0, 0, 5000))
                rows.append(message(offset, timestamp=time - late, partition=partition, key=rng.choice((None, b"k"))))
            claims = SegmentName(rows[0]["timestamp"], rows[-1]["timestamp"], partition, rows[0]["offset"], offset)
            name = claims.text("snappy") if rng.random() < 0.8 else f"{offset}.avro"
            row = lake.segment(key, rows, name=name)
            row |= {"TimestampStart": claims.start, "TimestampEnd": claims.end}
            described += odd_descriptors(lake, row, rng)
    rng.shuffle(described)
    lake.describe(described)
    return lake


def odd_descriptors(lake: WrittenLake, row: Message, rng: random.Random) -> list[Message]:
    """Return the descriptors of a segment, and remove its messages if they mark it as deleted."""
    later = dt.datetime(2026, 2, 1, tzinfo=dt.timezone.utc)
    match rng.randrange(9):
        case 0:
            return []
        case 1:  # stale, and a duplicate
            return [row, row, row | {"Path": row["Path"].replace("Raw/", "Raw/Topic=t/Key=gone/Raw/")}]
        case 2:  # of a former content
            return [row | {"FileSizeBytes": row["FileSizeBytes"] + 1, "StartOffset": 10**6, "EndOffset": 10**6}]
        case 3:
            lake.messages = lake.messages[: -row["RecordCount"]]
            return [row | {"DeletedAt": later}]
        case 4:  # restored
            return [row | {"DeletedAt": later}, row | {"CreatedAt": later}]
        case 5:
            return [row | {"StartOffset": None, "TimestampEnd": None}]
        case _:
            return [row]


def random_filter(messages: list[Message], rng: random.Random) -> tuple[dict[str, Any], str, Callable[[Message], bool]]:
    """Return filters of a selection, the same as an SQL predicate, and as a function."""
    some = rng.choice(messages)
    low = some["timestamp"] + rng.choice((0, 1, -1, -4000))
    end = low + rng.choice((0, 1, 2000, 10_000))
    first = some["offset"] + rng.choice((0, 1, -3))
    last = first + rng.choice((0, 1, 20))
    key, partition = some["stream_key"], some["partition"]
    quoted = "stream_key IS NULL" if key is None else f"stream_key = '{key}'"
    moment = dt.datetime.fromtimestamp(low / 1000, dt.timezone.utc).isoformat(sep=" ", timespec="milliseconds")
    choices: list[tuple[dict[str, Any], str, Callable[[Message], bool]]] = [
        (
            {"start": low, "end": end},
            f"timestamp >= {low} AND timestamp < {end}",
            lambda m: low <= m["timestamp"] < end,
        ),
        ({"start": moment}, f"time >= TIMESTAMP '{moment}'", lambda m: m["timestamp"] >= low),
        ({"offsets": (first, last)}, f"offset >= {first} AND offset < {last}", lambda m: first <= m["offset"] < last),
        ({"partitions": partition}, f"partition = {partition}", lambda m: m["partition"] == partition),
        ({"keys": [key]}, quoted, lambda m: m["stream_key"] == key),
    ]
    chosen = rng.sample(choices, rng.randint(1, 3))
    filters: dict[str, Any] = {}
    for each, _, _ in chosen:
        filters = each | filters
    if {"start", "end"} <= filters.keys() and len([c for c in chosen if "start" in c[0]]) > 1:
        chosen = [c for c in chosen if c[0].keys() != {"start"}]
        filters |= {"start": low, "end": end}
    return filters, " AND ".join(sql for _, sql, _ in chosen), lambda m: all(test(m) for _, _, test in chosen)


def assert_equal(frame: DataFrame, messages: list[Message], test: Callable[[Message], bool]) -> None:
    expected = Counter(identity(each) for each in messages if test(each))
    assert Counter(map(identity, frame.collect())) == expected


@pytest.mark.parametrize("seed", range(6))
def test_reads_return_what_a_plain_filter_selects(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """[QLK-RD-2] [QLK-RD-3] [QLK-SE-1] [QLK-TR-1] [QLK-TR-2] [QLK-DE-5] [QLK-IX-1] [QLK-IX-2]"""
    rng = random.Random(seed)
    ordered = seed % 2 == 0
    written = random_lake(tmp_path, rng, ordered=ordered)
    if not written.messages:
        pytest.skip("all segments are deleted")
    lake = QuixLake(spark, str(tmp_path))
    trusts: tuple[Trust, ...] = ("checked", "names") if ordered else ("checked",)
    assert_equal(lake.read("t"), written.messages, lambda _: True)
    for _ in range(4):
        filters, sql, test = random_filter(written.messages, rng)
        for trust in trusts:
            assert_equal(lake.read("t", trust=trust, **filters), written.messages, test)
            assert_equal(lake.read("t", trust=trust).filter(sql), written.messages, test)
    index = lake.index("t", trust=rng.choice((*trusts, "data")))
    index.create([xskip.ValueList("key")] if rng.random() < 0.5 else [], progress=False)
    for _ in range(3):
        filters, sql, test = random_filter(written.messages, rng)
        assert_equal(lake.read("t").filter(sql), written.messages, test)
        assert_equal(lake.read("t", **filters), written.messages, test)
    lake.validate("t")
    filters, sql, test = random_filter(written.messages, rng)
    assert_equal(lake.read("t").filter(sql), written.messages, test)
