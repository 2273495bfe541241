"""Tests of reads, replays and checks of lakes that hold the same offsets repeatedly."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import xskip
from tests.effort import seeds
from tests.quixlake.lakes import START, WrittenLake, records, skipped
from tests.quixlake.written import FORMER, message, write_segment
from xskip.errors import PredicateError
from xskip.indexes import BloomFilter
from xskip.quixlake import QuixLake

_SEEDS = seeds(range(8))
_NAME = "ts_{}_{}_part_{}_off_{}_{}.avro.{}"


def copies(count: int, first: int = 0, *, value: str, **fields: Any) -> list[dict[str, Any]]:
    """Return messages with consecutive offsets, whose values tell the copy."""
    return [row | {"value": f"{value}{row['offset']}".encode()} for row in records(count, first, **fields)]


def values(frame: DataFrame) -> list[str]:
    return [bytes(row.value).decode() for row in frame.orderBy("partition", "offset", "value").collect()]


def twice(base: Path, *, described: bool = True) -> WrittenLake:
    """Write the offsets 0 to 9 in two segments, 5 to 14 once more under other names, and others alone."""
    lake = WrittenLake(base)
    rows = [
        lake.segment("k", copies(5, value="a")),
        lake.segment("k", copies(5, 5, value="a")),
        lake.segment("k", copies(10, 5, value="b"), name=_NAME.format(START, START + 14_000, 0, 5, 14, "x")),
        lake.segment("k", copies(5, 20, value="a")),
        lake.segment("k", copies(5, 5, value="p", partition=1)),
    ]
    if described:
        lake.describe(rows)
    return lake


@pytest.mark.parametrize("described", [False, True])
def test_a_read_of_distinct_offsets(spark: SparkSession, tmp_path: Path, *, described: bool) -> None:
    """[QLK-RD-5] [QLK-RD-6]"""
    twice(tmp_path, described=described)
    lake = QuixLake(spark, tmp_path)
    assert lake.read("t").count() == 30
    found = lake.read("t", distinct_offsets=True)
    # the segment that begins at the least timestamp comes first
    expected = [*(f"a{i}" for i in range(5)), *(f"b{i}" for i in range(5, 15)), *(f"a{i}" for i in range(20, 25))]
    assert values(found) == [*expected, *(f"p{i}" for i in range(5, 10))]
    assert found.columns == lake.read("t").columns
    assert found.count() == 25
    assert found.agg({"offset": "max"}).collect() == [(24,)]


@pytest.mark.parametrize("named", [False, True])
def test_filters_do_not_change_which_message_counts(spark: SparkSession, tmp_path: Path, *, named: bool) -> None:
    """[QLK-RD-5] A filter that the counting message does not satisfy leaves no copy, also where it skips a segment."""
    lake = WrittenLake(tmp_path)
    late = [row | {"timestamp": row["timestamp"] + 3_600_000} for row in copies(4, value="late")]
    rows = [
        lake.segment("k", copies(4, value="first")),
        lake.segment("k", late),
        lake.segment("other", copies(4, value="z")),
    ]
    lake.describe(rows, exact=named)
    quix = QuixLake(spark, tmp_path)
    trust: Any = {"trust": "names"} if named else {}
    everything = quix.read("t", distinct_offsets=True, **trust)
    assert values(everything) == ["first0", "first1", "first2", "first3"]
    hour = START + 3_600_000
    assert values(quix.read("t", start=hour, distinct_offsets=True, **trust)) == []
    assert values(everything.filter(f"timestamp >= {hour}")) == []
    assert values(everything.filter("value LIKE 'late%'")) == []
    assert values(quix.read("t", keys="other", distinct_offsets=True, **trust)) == []
    assert values(quix.read("t", keys="k", end=hour, distinct_offsets=True, **trust)) == values(everything)
    assert values(everything.filter("offset = 2")) == ["first2"]
    assert values(quix.read("t", offsets=(2, 3), distinct_offsets=True, **trust)) == ["first2"]
    quix.set_metadata("t", "other", {"site": "Oslo"})
    assert values(quix.read("t", metadata={"site": "Oslo"}, distinct_offsets=True, **trust)) == []
    assert len(values(quix.read("t", metadata={"site": "Oslo"}, **trust))) == 4


def test_segments_are_skipped(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-6]"""
    lake = WrittenLake(tmp_path)
    lake.describe([lake.segment("k", copies(5, 10 * i, value="a")) for i in range(10)], exact=True)
    quix = QuixLake(spark, tmp_path)
    assert skipped(spark, quix.read("t", distinct_offsets=True).filter("offset = 42")) == (1, 10)
    assert skipped(spark, quix.read("t", distinct_offsets=True).filter(f"timestamp = {START + 42_000}")) == (1, 10)
    lake.describe([lake.segment("k", copies(15, 35, value="b"), name="again.avro")], exact=True)
    found = quix.read("t", distinct_offsets=True)
    for condition, kept in (("offset = 72", 1), ("offset = 42", 4), (f"timestamp < {START + 20_000}", 4)):
        frame = found.filter(condition)
        assert frame.count() == len({row.offset for row in frame.collect()})
        assert sum(scan.kept for scan in xskip.last_report(spark).scans) == kept, condition
    quix.index("t").create([BloomFilter("key"), BloomFilter("value")])
    frame = quix.read("t", distinct_offsets=True).filter("value = X'613732'")
    assert values(frame) == ["a72"]
    assert any(scan.kept == 1 < scan.files for scan in xskip.last_report(spark).scans)


def test_copies_within_a_segment(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-5] Also in unordered segments, between marks of gaps, and in blocks that Spark would split."""
    rows = [
        message(i % 50, timestamp=START + i, value=f"{i}".encode()) for i in random.Random(1).sample(range(5000), 5000)
    ]
    first: dict[int, str] = {}
    for row in rows:
        first.setdefault(row["offset"], row["value"].decode())
    folder = tmp_path / "Raw/Topic=t/Key=k/Start=2025-08-21"
    write_segment(folder / _NAME.format(START, START + 4999, 0, 0, 49, "snappy"), rows, sync_interval=100)
    quix = QuixLake(spark, tmp_path)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    assert quix.read("t").rdd.getNumPartitions() > 3
    assert values(quix.read("t", distinct_offsets=True)) == [first[offset] for offset in range(50)]
    assert quix.read("t", distinct_offsets=True).select("key").count() == 50
    assert quix.read("t", distinct_offsets=True).count() == 50
    gaps: list[dict[str, Any]] = [
        {
            "Payload": b"",
            "TimestampMs": 0,
            "Partition": 2,
            "Offset": offset,
            "Headers": {},
            "Gap": gap,
            "GapReason": None,
        }
        for offset, gap in ((5, True), (5, False), (6, True), (5, False))
    ]
    write_segment(folder / "former.avro", gaps, FORMER)
    assert [row.offset for row in quix.read("t", partitions=2, distinct_offsets=True).collect()] == [5]


def test_messages_without_partition_or_offset_have_no_copies(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-5]"""
    schema = {"type": "record", "name": "m", "fields": [
        {"name": "value", "type": "bytes"}, {"name": "offset", "type": ["null", "long"]},
        {"name": "partition", "type": ["null", "long"]},
    ]}  # fmt: skip
    rows: list[dict[str, Any]] = [
        {"value": b"v", "offset": o, "partition": p} for o, p in ((None, 0), (1, None), (1, 0))
    ]
    for name in ("a.avro", "b.avro"):
        write_segment(tmp_path / "Raw/Topic=t/Key=k" / name, rows, schema)
    found = QuixLake(spark, tmp_path).read("t", distinct_offsets=True)
    key: Callable[[Row], str] = str
    assert Counter(map(key, found.select("partition", "offset").collect())) == Counter(
        map(
            key,
            [Row(partition=0, offset=None)] * 2 + [Row(partition=None, offset=1)] * 2 + [Row(partition=0, offset=1)],
        )
    )


def test_deleted_segments_hold_no_copies(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-5] [QLK-CK-3]"""
    lake = WrittenLake(tmp_path)
    one = lake.segment("k", copies(3, value="a"), name="a.avro")
    lake.segment("k", copies(3, value="b"), name=_NAME.format(1, 2, 0, 0, 2, "b"))
    quix = QuixLake(spark, tmp_path)
    assert values(quix.read("t", distinct_offsets=True)) == ["a0", "a1", "a2"]
    lake.describe([one | {"DeletedAt": one["CreatedAt"]}])
    assert values(quix.read("t", distinct_offsets=True)) == ["b0", "b1", "b2"]
    assert [case["case"] for case in quix.check("t")] == ["deleted", "missing"]


def random_lake(base: Path, chosen: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Write a lake with copies, and yield the path and the row of each message, in the order in which they count."""
    lake, written = WrittenLake(base), {}
    for number in range(chosen.randint(2, 9)):
        partition, first = chosen.randrange(2), chosen.randrange(30)
        offsets = sorted(chosen.sample(range(first, first + 12), chosen.randint(1, 8)))
        if chosen.random() < 0.2:
            offsets += chosen.choices(offsets, k=2)
        late = chosen.choice((0, 0, 50_000))
        rows = [
            message(o, timestamp=START + o * 1000 + late, partition=partition, value=f"{number}/{i}".encode())
            for i, o in enumerate(offsets)
        ]
        key = chosen.choice(("a", "a", "b"))
        row = lake.segment(key, rows, name=f"{number}.avro" if chosen.random() < 0.3 else None)
        path = row["Path"].partition("workspace/")[2]
        written[path] = [each | {"stream_key": key} for each in rows]  # the same name: the latter segment replaces it
        if chosen.random() < 0.5:
            lake.describe([row], exact=chosen.random() < 0.5)
    for path in sorted(written):
        yield from ((path, row) for row in written[path])


def conditions(low: int, one: dict[str, Any]) -> list[tuple[str, Callable[[dict[str, Any]], bool]]]:
    """Return conditions in SQL and in Python."""
    return [
        ("true", lambda _: True),
        (f"offset <= {low}", lambda row: row["offset"] <= low),
        (f"timestamp > {one['timestamp']}", lambda row: row["timestamp"] > one["timestamp"]),
        (f"value = X'{one['value'].hex()}'", lambda row: row["value"] == one["value"]),
        ("stream_key = 'b' OR partition = 0", lambda row: row["stream_key"] == "b" or row["partition"] == 0),
    ]


@pytest.mark.parametrize("seed", _SEEDS)
def test_random_lakes_with_copies(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """[QLK-RD-5] [QLK-RD-6]"""
    chosen = random.Random(seed)
    expected: dict[tuple[int, int], dict[str, Any]] = {}
    for _, row in random_lake(tmp_path, chosen):
        expected.setdefault((row["partition"], row["offset"]), row)
    quix = QuixLake(spark, tmp_path)
    if chosen.random() < 0.4:
        quix.index("t").create([BloomFilter("value")])
    for _ in range(6):
        low = chosen.randrange(42)
        filters: dict[str, Any] = chosen.choice((
            {}, {"keys": "a"}, {"keys": "b"}, {"partitions": 1}, {"offsets": (low, low + 5)},
            {"start": START + low * 1000, "end": START + low * 1000 + 9_000},
        ))  # fmt: skip
        wanted: Any = [row for row in expected.values() if _satisfies(row, filters)]
        frame = quix.read("t", distinct_offsets=True, **filters)
        one = chosen.choice([*expected.values()])
        sql, keep = chosen.choice(conditions(low, one))
        found = Counter((r.partition, r.offset, bytes(r.value)) for r in frame.filter(sql).collect())
        assert found == Counter((r["partition"], r["offset"], r["value"]) for r in wanted if keep(r)), (filters, sql)


def _satisfies(row: dict[str, Any], filters: dict[str, Any]) -> bool:
    low, end = filters.get("offsets", (0, 10**9))
    return bool(
        filters.get("keys", row["stream_key"]) == row["stream_key"]
        and filters.get("partitions", row["partition"]) == row["partition"]
        and low <= row["offset"] < end
        and filters.get("start", 0) <= row["timestamp"] < filters.get("end", 2**60)
    )


def test_a_replay_sends_each_offset_once(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RP-1] [QLK-RD-5]"""
    twice(tmp_path)
    sent: list[Any] = []
    QuixLake(spark, tmp_path).replay("t", partitions=0, distinct_offsets=True).to(sent.append)
    assert [message.offset for message in sent] == [*range(15), *range(20, 25)]
    assert bytes(sent[5].value) == b"b5"


def test_the_flag_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    twice(tmp_path)
    with pytest.raises(
        PredicateError, match=r"distinct_offsets has an invalid value .found: 1; expected: True or False"
    ):
        QuixLake(spark, tmp_path).read("t", distinct_offsets=1)  # type: ignore[arg-type]


def overlaps(quix: QuixLake) -> list[tuple[str, str]]:
    return [(row["path"].rpartition("/")[2], row["detail"]) for row in quix.check("t") if row["case"] == "overlap"]


@pytest.mark.parametrize("described", [False, True])
def test_a_check_names_the_overlap(spark: SparkSession, tmp_path: Path, *, described: bool) -> None:
    """[QLK-CK-3]"""
    twice(tmp_path, described=described)
    verb = "holds" if described else "can hold"
    other = f"Raw/Topic=t/Key=k/Start=2025-08-21/{_NAME.format(START + 5000, START + 9000, 0, 5, 9, 'snappy')}"
    assert overlaps(QuixLake(spark, tmp_path)) == [(
        _NAME.format(START, START + 14_000, 0, 5, 14, "x"),
        f"{verb} offsets 5 to 9 of {other} once more; read them once by distinct_offsets",
    )]  # fmt: skip


def test_a_check_of_several_stream_keys(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CK-3] Stream keys lie between each other; only full segments prove a copy."""
    lake = WrittenLake(tmp_path)
    rows = [row for i, key in enumerate("ab") for row in [lake.segment(key, [message(2 * n + i) for n in range(5)])]]
    lake.describe(rows)
    quix = QuixLake(spark, tmp_path)
    assert overlaps(quix) == []
    lake.describe([lake.segment(key, [message(n) for n in range(100, 103)]) for key in "ab"])
    ((name, detail),) = overlaps(quix)
    assert "off_100_102" in name
    assert detail.startswith("holds offsets 100 to 102 of Raw/Topic=t/Key=a/")
    assert quix.read("t", distinct_offsets=True).count() == 13


def test_a_compaction_leaves_copies_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-CP-8]"""
    import datetime as dt

    quix = QuixLake(spark, tmp_path)
    columns = "timestamp BIGINT, key BINARY, value BINARY, partition INT, offset BIGINT"
    for batch, (first, end) in enumerate(((0, 5), (5, 10), (3, 8), (20, 25), (25, 30), (30, 35))):
        rows = [(START + 1000 * o, b"k", f"{batch}/{o}".encode(), 0, o) for o in range(first, end)]
        quix.write(spark.createDataFrame(rows, columns), "t", batch=f"{batch}")
    before = values(quix.read("t", distinct_offsets=True))
    assert len(before) == 25 < quix.read("t").count()
    found = quix.compact("t", older_than=dt.timedelta(0))
    assert (found.replaced, found.added) == (3, 1)
    assert values(quix.read("t", distinct_offsets=True)) == before
    assert quix.read("t").count() == 30
