"""Tests of the index of a topic: entries from descriptors without a look into segments."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.quixlake.lakes import START, WrittenLake, hourly, offsets, records, skipped
from tests.quixlake.written import MESSAGE, write_segment
from xskip.errors import IndexExistsError, MetadataNotFoundError, PredicateError
from xskip.quixlake import QuixLake
from xskip.quixlake.topic_index import TopicIndex
from xskip.spark.collect.collector import Collector
from xskip.spark.query.spark_engine import engine_of


def entries(spark: SparkSession, index: TopicIndex, column: str) -> list[Any]:
    """Return the bounds of a column in the index, in the order of the names of segments."""
    (_, source) = index._open()
    found = engine_of(spark).indexes.snapshot(source.directory)
    assert found is not None
    table = found[0].load([("minmax", (column,))])
    (values,) = (each.values for each in table.indexes.values())
    rows = pa.table({"name": table.files.names, "bounds": values}).sort_by("name")["bounds"].to_pylist()
    return [None if row is None else (row["min"], row["max"]) for row in rows]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of segments of each job that reads messages."""
    counts: list[int] = []
    original = Collector._from_data

    def noted(self: Collector, chosen: Any, planned: Any) -> Any:
        counts.append(len(chosen))
        return original(self, chosen, planned)

    monkeypatch.setattr(Collector, "_from_data", noted)
    return counts


def test_descriptors_become_an_index_without_a_look_into_segments(
    spark: SparkSession, tmp_path: Path, opened: list[int]
) -> None:
    """[QLK-IX-1] [QLK-IX-2] [QLK-TR-1] [QLK-TR-2]"""
    hourly(tmp_path, ("a", None), hours=3)
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t")
    assert index.create().added == 6
    assert opened == []
    assert entries(spark, index, "offset") == [(0, 3), (10, 13), (20, 23)] * 2
    assert entries(spark, index, "partition") == [(1, 1)] * 3 + [(0, 0)] * 3  # null is Key=__HIVE…
    assert entries(spark, index, "timestamp") == [None] * 6
    assert sorted(Path(name).name for name in index.files("offset = 11").names) == [
        "ts_1755738000000_1755739800000_part_0_off_10_13.avro.snappy",
        "ts_1755738000000_1755739800000_part_1_off_10_13.avro.snappy",
    ]
    assert index.status().up_to_date
    with pytest.raises(IndexExistsError):
        lake.index("t", trust="names").create()
    index.drop()
    named = lake.index("t", trust="names")
    named.create()
    hours = [(START + 3_600_000 * h, START + 3_600_000 * h + 1_800_000) for h in range(3)]
    assert entries(spark, named, "timestamp") == hours * 2
    assert len(named.files("time >= '2025-08-21 02:00'").names) == 2
    assert opened == []


def test_only_what_claims_leave_open_is_read(spark: SparkSession, tmp_path: Path, opened: list[int]) -> None:
    """[QLK-IX-1] [QLK-TR-2]"""
    written = WrittenLake(tmp_path)
    exact, claimed = (written.segment("k", records(3, first=first)) for first in (0, 10))
    written.segment("k", records(3, first=20), name="zz.avro")
    written.describe([exact], exact=True)
    written.describe([claimed])
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t")
    index.create(progress=False)
    assert opened == [1]
    assert entries(spark, index, "offset") == [(0, 2), (10, 12), (20, 22)]
    assert entries(spark, index, "timestamp") == [(START, START + 2000), None, None]
    index.drop()
    opened.clear()
    index = lake.index("t", trust="data")
    index.create([xskip.ValueList("key")], progress=False)
    assert sorted(opened) == [2, 3]
    assert entries(spark, index, "timestamp") == [(START + 1000 * i, START + 1000 * i + 2000) for i in (0, 10, 20)]


def test_a_refresh_takes_new_segments_alone(spark: SparkSession, tmp_path: Path, opened: list[int]) -> None:
    """[QLK-IX-3]"""
    written = WrittenLake(tmp_path)
    one, two = (written.segment("k", records(3, first=first)) for first in (0, 10))
    written.describe([one])
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t", trust="names")
    index.create([xskip.ValueList("value")], progress=False)
    written.segment("k", records(3, first=20))
    written.describe([two | {"DeletedAt": dt.datetime(2026, 5, 1, tzinfo=dt.timezone.utc)}])
    opened.clear()
    found = index.refresh(progress=False)
    assert (found.added, found.removed, found.unchanged) == (1, 1, 1)
    assert opened == [1]
    assert entries(spark, index, "offset") == [(0, 2), (20, 22)]
    assert index.refresh().added == 0


def test_a_descriptor_gives_a_partition_after_the_build(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-IX-3] [QLK-RE-3] Statistics of records without partition do not outlive the partition of the segment."""
    written = WrittenLake(tmp_path)
    below, bare = "Raw/Topic=t/Key=k/Start=2025-08-21", [{**row, "partition": None} for row in records(3)]
    fields = [{**f, "type": ["null", "long"]} if f["name"] == "partition" else f for f in MESSAGE["fields"]]
    paths = [
        write_segment(tmp_path / below / name, bare, {**MESSAGE, "fields": fields})
        for name in ("x.avro", "ts_1_2_part_7_off_0_2.avro")
    ]
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t")
    index.create([xskip.ValueList("partition")], progress=False)
    assert lake.read("t").filter("partition = 5").count() == 0
    places = {"Topic": "t", "Key": "k", "Partition": 5}
    written.describe(places | {"Path": f"{below}/{path.name}", "FileSizeBytes": path.stat().st_size} for path in paths)
    assert index.status().stale == 1
    for _ in range(2):
        assert lake.read("t").filter("partition = 5").count() == lake.read("t", partitions=5).count() == 3
        assert lake.read("t").filter("partition = 7").count() == 3, "the name counts before the descriptor"
        index.refresh(progress=False)
    assert index.status().up_to_date


def test_a_descriptor_shows_that_an_entry_is_too_narrow(spark: SparkSession, tmp_path: Path, opened: list[int]) -> None:
    """[QLK-IX-3] [QLK-TR-1] A refresh takes wider bounds, once, and keeps narrower ones."""
    written = WrittenLake(tmp_path)
    late = written.segment("k", records(20), name=f"ts_{START}_{START}_part_0_off_0_9.avro")
    narrow = written.segment("k", records(3, first=100), name=f"ts_{START}_{START}_part_0_off_100_199.avro")
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t")
    index.create()
    assert entries(spark, index, "offset") == [(0, 9), (100, 199)]
    written.describe([late, narrow])
    assert (index.refresh(progress=False).added, index.refresh(progress=False).added) == (1, 0)
    assert entries(spark, index, "offset") == [(0, 19), (100, 199)]
    assert offsets(lake.read("t").filter("offset = 15")) == [15]
    assert opened == []


def test_a_validation_enters_the_bounds_of_the_data(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-IX-4] [QLK-CK-2] [QLK-TR-2]"""
    written = WrittenLake(tmp_path)
    late = records(3)
    late[2]["timestamp"] = START - 5000
    rows = [written.segment("k", late), written.segment("k", records(3, first=10))]
    rows[0] |= {"TimestampStart": START, "TimestampEnd": START + 1000}
    name = "ts_{}_{}_part_0_off_0_2.avro.snappy"
    (tmp_path / rows[0]["Path"].partition("workspace/")[2]).rename(
        tmp_path / "Raw/Topic=t/Key=k/Start=2025-08-20" / name.format(START, START + 1000)
    )
    rows[0]["Path"] = "Raw/Topic=t/Key=k/Start=2025-08-20/" + name.format(START, START + 1000)
    rows[1] |= {"EndOffset": 11}
    written.describe(rows)
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t")
    index.create()
    assert entries(spark, index, "timestamp") == [None, None]
    found = lake.validate("t")
    assert [(Path(row["path"]).name, row["column"], row["claimed"], row["found"]) for row in found] == [
        (
            name.format(START, START + 1000), "timestamp",
            f"{START} to {START + 1000}", f"{START - 5000} to {START + 1000}",
        ),
        (f"ts_{START + 10_000}_{START + 12_000}_part_0_off_10_12.avro.snappy", "offset", "10 to 11", "10 to 12"),
    ]  # fmt: skip
    assert entries(spark, index, "timestamp") == [(START - 5000, START + 1000), (START + 10_000, START + 12_000)]
    assert lake.read("t").filter(f"timestamp < {START}").count() == 1
    assert len(lake.validate("t", sample=1)) <= 1
    (tmp_path / "Metadata").rename(tmp_path / "elsewhere")
    assert [row["column"] for row in lake.validate("t")] == ["timestamp"]


def test_an_index_survives_migrations_and_optimization(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-IX-2]"""
    hourly(tmp_path, ("a", "b"), hours=2)
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t", trust="names")
    index.create([xskip.BloomFilter("key")], progress=False)
    before = entries(spark, index, "timestamp")
    index.optimize()
    assert entries(spark, index, "timestamp") == before
    assert "minmax" in str(index.describe())
    assert lake.read("t").filter("key = X'00'").count() == 0


def test_indexes_are_added_to_the_bounds_of_descriptors(spark: SparkSession, tmp_path: Path, opened: list[int]) -> None:
    """[QLK-IX-1] [QLK-IX-5] An addition reads messages for the added indexes, and keeps the claims of the bounds."""
    written = WrittenLake(tmp_path)
    rows = [[row | {"value": b'{"temp": %d}' % row["offset"]} for row in records(2, first=i)] for i in (0, 10, 20)]
    written.describe([written.segment("k", own) for own in rows[:2]], exact=True)
    lake = QuixLake(spark, str(tmp_path))
    index = lake.index("t", value="json", schema="temp INT")
    with pytest.raises(MetadataNotFoundError):
        index.add([xskip.MinMax("value.temp")])
    index.create(progress=False)
    assert opened == []
    frame = lake.read("t", value="json", schema="temp INT")
    assert skipped(spark, frame.filter("value.temp > 5")) == (2, 2)
    written.describe([written.segment("k", rows[2])])
    found = index.add([xskip.MinMax("value.temp"), xskip.BloomFilter("key")], progress=False)
    assert (found.added, found.removed, found.unchanged) == (1, 0, 2)
    assert sorted(opened) == [1, 2]
    assert entries(spark, index, "offset") == [(0, 1), (10, 11), (20, 21)]
    assert entries(spark, index, "timestamp") == [(START, START + 1000), (START + 10_000, START + 11_000), None]
    frame = lake.read("t", value="json", schema="temp INT")
    assert skipped(spark, frame.filter("value.temp > 5")) == (2, 3)
    assert offsets(frame.filter("value.temp > 5")) == [10, 11, 20, 21]
    assert skipped(spark, lake.read("t").filter("key = X'00'")) == (0, 3)
    for repeated in (xskip.MinMax("value.temp"), xskip.MinMax("offset")):
        with pytest.raises(IndexExistsError):
            index.add([repeated])
    with pytest.raises(PredicateError, match="no index supports this decoding of payloads"):
        lake.index("t", value="protobuf", schema="p.M").add([xskip.MinMax("value.temp")])
    assert lake.index("t").refresh(progress=False).unchanged == 3


def test_a_read_uses_each_later_state_of_the_index(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-3] [QLK-RD-4] The segments of a DataFrame are looked up again in each new state of the index."""
    written = hourly(tmp_path, ("a", None), hours=3)
    lake = QuixLake(spark, str(tmp_path))
    lake.index("t").create(progress=False)
    frame = lake.read("t")
    late = "time >= '2025-08-21 02:00' AND stream_key IS NULL"
    assert [skipped(spark, frame.filter(late)) for _ in range(2)] == [(3, 3)] * 2, "of one key"
    lake.index("t").drop()
    lake.index("t", trust="names").create(progress=False)
    assert [skipped(spark, frame.filter(late)) for _ in range(2)] == [(1, 3)] * 2
    assert skipped(spark, frame.filter("time >= '2025-08-21 02:00' OR stream_key = 'a'")) == (4, 6)
    written.describe([written.segment("a", records(3, first=100))])
    lake.index("t", trust="names").refresh(progress=False)
    assert [skipped(spark, frame.filter("offset >= 20")) for _ in range(2)] == [(2, 6)] * 2
    assert skipped(spark, lake.read("t").filter("offset >= 20")) == (3, 7)
    (segment,) = tmp_path.glob("Raw/Topic=t/Key=a/*/*off_0_3.avro.snappy")
    segment.touch()  # the file has changed since the index was built
    assert skipped(spark, lake.read("t").filter("offset >= 20")) == (4, 7)
    assert skipped(spark, frame.filter("offset >= 20")) == (2, 6)
