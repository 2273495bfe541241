"""Tests of reads: their columns, the segments that they cover, and what filters skip."""

from __future__ import annotations

import datetime as dt
import logging
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.quixlake.lakes import START, WrittenLake, hourly, offsets, records, skipped
from tests.quixlake.written import FIVE_FIELDS, write_segment
from xskip.metadatastore.filesystem import LocalStorage
from xskip.quixlake import QuixLake
from xskip.quixlake.descriptors import describe

KEYS = ("a/b", "10", "", None)


def test_the_columns_of_a_read(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-1]"""
    hourly(tmp_path, KEYS)
    frame = QuixLake(spark, str(tmp_path)).read("t")
    assert frame.columns == [
        "timestamp", "key", "headers", "value", "partition", "offset", "time", "topic", "stream_key", "date"
    ]  # fmt: skip
    row = frame.filter("stream_key = 'a/b' AND offset = 11").first()
    assert row is not None
    assert row.asDict() == {
        "timestamp": START + 4_200_000, "key": b"key", "headers": [], "value": b"value 11", "partition": 0,
        "offset": 11, "time": dt.datetime(2025, 8, 21, 1, 10), "topic": "t", "stream_key": "a/b",
        "date": dt.date(2025, 8, 21),
    }  # fmt: skip
    assert frame.filter("stream_key IS NULL").count() == frame.filter("stream_key = ''").count() == 24


def test_arguments_are_filters(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-2] [QLK-SE-2] [QLK-CM-5]"""
    written = hourly(tmp_path, KEYS)
    written.set("10", "site", "Oslo")
    lake = QuixLake(spark, str(tmp_path))
    window = {"start": "2025-08-21 02:10", "end": START + 3 * 3_600_000 + 1}
    assert offsets(lake.read("t", keys="10", **window)) == [21, 22, 23, 30]  # type: ignore[arg-type]
    assert offsets(lake.read("t", keys=["10", None], offsets=(20, 22))) == [20, 20, 21, 21]
    assert offsets(lake.read("t", partitions=[0, 3], offsets=(None, 2))) == [0, 0, 1, 1]
    assert offsets(lake.read("t", metadata={"site": "Oslo"}, offsets=(52, None))) == [52, 53]
    assert lake.read("t", keys="none").count() == lake.read("t", metadata={"site": "Rome"}).count() == 0


def test_a_read_lists_only_the_folders_of_its_keys(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-SE-2] [QLK-CM-5] A read lists the files below ``Metadata`` once, whether it needs custom metadata or not."""
    hourly(tmp_path, KEYS).set("a/b", "site", "Oslo")
    lake = QuixLake(spark, str(tmp_path))
    listed: list[str] = []
    from xskip.quixlake import location, store

    original = location.list_below

    def noted(place: Any, uri: str) -> Any:
        listed.append(uri.partition("/Topic=t")[2])
        return original(place, uri)

    monkeypatch.setattr(store, "list_below", noted)
    for filters in ({"keys": "a/b"}, {"metadata": {"site": "Oslo"}}, {"keys": KEYS, "metadata": {"site": "Oslo"}}):
        listed.clear()
        assert lake.read("t", **filters).count() == 24
        assert listed == ["", "/Key=a%2Fb"]
    listed.clear()
    assert lake.read("t", keys="10", metadata={"site": "Oslo"}).count() == 0
    assert listed == [""]


def test_filters_skip_by_bounds_that_count(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-3] [QLK-TR-1] [QLK-TR-2]"""
    hourly(tmp_path, KEYS)
    lake = QuixLake(spark, str(tmp_path))
    frame = lake.read("t")
    assert skipped(spark, frame.filter("offset BETWEEN 22 AND 31")) == (8, 24)
    assert skipped(spark, frame.filter("partition = 2 AND offset > 43")) == (1, 24)
    assert skipped(spark, frame.filter("time >= '2025-08-21 05:00'")) == (24, 24)
    named = lake.read("t", trust="names")
    assert skipped(spark, named.filter("time >= '2025-08-21 05:00'")) == (4, 24)
    assert skipped(spark, named.filter(f"timestamp < {START}")) == (0, 24)
    # a read that trusts the data alone is not touched by one that trusts names
    assert skipped(spark, frame.filter("time >= '2025-08-21 05:00'")) == (24, 24)
    assert skipped(spark, lake.read("t", keys="10").filter("offset = 0")) == (1, 6)


def test_bounds_of_a_sink_that_computes_them_count(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TR-2]"""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(3, first=first)) for first in (0, 10, 20)]
    written.describe(rows[:2], exact=True)
    written.describe(rows[2:])
    frame = QuixLake(spark, str(tmp_path)).read("t")
    assert skipped(spark, frame.filter(f"timestamp < {START + 5000}")) == (2, 3)


def test_a_report_counts_the_segments_that_a_query_reads_for_want_of_trust(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-TR-5]"""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(3, first=first)) for first in (0, 10, 20, 30)]
    written.describe(rows[:2], exact=True)
    written.describe(rows[2:])
    frame = QuixLake(spark, str(tmp_path)).read("t").filter(f"timestamp < {START + 5000} AND offset < 30")
    assert skipped(spark, frame) == (2, 4)
    (scan,) = xskip.last_report(spark).scans
    unknown = {each.index: each.unknown for each in scan.outcomes if "NULL" not in each.predicate}
    assert unknown == {"minmax(timestamp)": 1, "minmax(offset)": 0}
    assert "unknown" in str(xskip.last_report(spark))


def test_a_topic_with_an_index_uses_it(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-3] [QLK-IX-1]"""
    hourly(tmp_path, KEYS)
    lake = QuixLake(spark, str(tmp_path))
    before = lake.read("t")
    index = lake.index("t", trust="names")
    index.create([xskip.ValueList("value")])
    assert skipped(spark, lake.read("t").filter("value = X'76616c7565203131'")) == (4, 24)
    assert skipped(spark, lake.read("t").filter("time >= '2025-08-21 05:00'")) == (4, 24)
    assert before.filter("offset = 11").count() == 4
    index.drop()
    assert skipped(spark, lake.read("t").filter("offset = 11")) == (4, 24)


def test_a_read_keeps_to_its_segments(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-4]"""
    written = hourly(tmp_path, ("a",))
    lake = QuixLake(spark, str(tmp_path))
    frame = lake.read("t")
    row = written.segment("a", records(2, first=100))
    assert frame.count() == 24
    assert lake.read("t").count() == 26
    (tmp_path / row["Path"].partition("workspace/")[2]).unlink()
    frame = lake.read("t")
    assert frame.count() == 24
    next(tmp_path.glob("Raw/*/*/*/ts_*")).unlink()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    assert frame.count() == 20


def test_a_session_that_does_not_skip(spark: SparkSession, tmp_path: Path) -> None:
    hourly(tmp_path, KEYS)
    xskip.disable(spark)
    assert offsets(QuixLake(spark, str(tmp_path)).read("t", keys="10", offsets=(0, 2))) == [0, 1]


def test_an_index_of_the_process_that_cannot_be_written(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """[QLK-RD-3]"""
    from xskip.quixlake import process_index

    hourly(tmp_path, KEYS)

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(process_index, "_build", full)
    with caplog.at_level(logging.WARNING, "xskip"):
        assert offsets(QuixLake(spark, str(tmp_path)).read("t").filter("offset < 1")) == [0] * 4
    assert "filters on topic t skip no segments: No space left on device" in caplog.text


def test_a_damaged_segment_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-6]"""
    written = hourly(tmp_path, ("a",))
    row = written.segment("a", records(50, first=100, value=b"x" * 5000))
    path = tmp_path / row["Path"].partition("workspace/")[2]
    path.write_bytes(path.read_bytes()[:300])
    lake = QuixLake(spark, str(tmp_path))
    with pytest.raises(Exception, match=path.name):
        lake.read("t").selectExpr("sum(length(value))").collect()
    assert lake.read("t", offsets=(0, 50)).selectExpr("sum(length(value))").collect()
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    assert lake.read("t").filter("offset < 100").selectExpr("count(value)").first() == (24,)


def test_index_files_that_are_rewritten_in_place(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DE-9]"""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(3, first=first)) for first in (0, 10)]
    written.describe(rows)
    lake = QuixLake(spark, str(tmp_path))
    assert lake.read("t").count() == 6
    shutil.rmtree(tmp_path / "Metadata")
    written._files = 0
    written.describe([rows[0], rows[1] | {"DeletedAt": dt.datetime(2026, 5, 1, tzinfo=dt.timezone.utc)}])
    assert lake.read("t").count() == 3
    shutil.rmtree(tmp_path / "Metadata")
    assert lake.read("t").count() == 6


def test_an_index_file_that_changes_without_a_change_of_its_state(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-DE-9] Its size and its time in whole milliseconds or seconds stay, as when it changes twice at once."""
    written = WrittenLake(tmp_path)
    rows = [written.segment("k", records(3, first=first)) for first in (0, 10)]
    deleted = {"DeletedAt": dt.datetime(2026, 5, 1, tzinfo=dt.timezone.utc)}
    written.describe([rows[0] | deleted, rows[1]])
    lake = QuixLake(spark, str(tmp_path))
    assert offsets(lake.read("t")) == [10, 11, 12]
    (path,) = tmp_path.glob("Metadata/**/*.parquet")
    before = path.stat()
    path.write_bytes(describe([rows[0], rows[1] | deleted], exact=False))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert offsets(lake.read("t")) == [0, 1, 2]
    assert [row["first"] for row in lake.segments("t")] == [0]


def test_index_files_that_do_not_change_are_read_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[QLK-DE-9] Unless they have just changed. What is no longer there does not stay in memory."""
    hourly(tmp_path, ("a", "b"))
    read: list[str] = []
    original = LocalStorage.read

    def noted(self: LocalStorage, path: str) -> bytes:
        read.append(Path(path).name)
        return original(self, path)

    monkeypatch.setattr(LocalStorage, "read", noted)
    lake, paths = QuixLake(spark, str(tmp_path)), sorted(tmp_path.glob("Metadata/**/*.parquet"))
    for path, seconds in zip(paths, (0, 60), strict=True):
        os.utime(path, (time.time() - seconds, time.time() - seconds))
    for expected in ([paths[0].name, paths[1].name], [paths[0].name]):
        read.clear()
        assert len(lake.keys("t")) == 2
        assert sorted(read) == expected
    assert [state[0] for state in lake._store._contents] == [str(paths[1])]
    shutil.rmtree(tmp_path / "Metadata")
    assert len(lake.keys("t")) == 2
    assert not lake._store._contents


def test_bounds_follow_descriptors_that_change(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RD-3] [QLK-TR-1] A descriptor can come after a read, and show that the bounds in a name do not count."""
    written = WrittenLake(tmp_path)
    name = f"ts_{START}_{START}_part_0_off_0_9.avro"
    late = written.segment("k", records(20, partition=1), name=name)
    written.segment("l", records(5, first=100, partition=1))
    lake = QuixLake(spark, str(tmp_path))
    frame = lake.read("t")
    assert skipped(spark, frame.filter("offset = 15 AND partition = 1")) == (0, 2)
    written.describe([late])
    assert lake.read("t", keys="l").count() == 5
    assert offsets(lake.read("t").filter("offset = 15 AND partition = 1")) == [15]
    assert offsets(frame.filter("offset = 15 AND partition = 1")) == [15]
    assert skipped(spark, lake.read("t").filter("offset = 101")) == (1, 2)
    (path,) = tmp_path.glob("Metadata/**/*.parquet")
    path.write_bytes(describe([late | {"EndOffset": 12}], exact=False))
    assert skipped(spark, lake.read("t").filter("offset = 15")) == (0, 2)
    path.unlink()
    assert skipped(spark, lake.read("t").filter("offset = 10")) == (0, 2)


def test_a_name_that_only_begins_like_that_of_a_segment(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-RE-3] [QLK-PA-5] It tells no partition, so that records without one have that of the descriptor."""
    written = WrittenLake(tmp_path)
    row = written.segment("k", records(2), name="ts_1_2_part_3_off_x.avro")
    path = tmp_path / row["Path"].partition("workspace/")[2]
    write_segment(path, [{k: v for k, v in each.items() if k != "partition"} for each in records(2)], FIVE_FIELDS)
    written.describe([row | {"Partition": 7, "FileSizeBytes": path.stat().st_size}])
    lake = QuixLake(spark, str(tmp_path))
    assert [each.partition for each in lake.read("t").collect()] == [7, 7]
    assert offsets(lake.read("t", partitions=7)) == [0, 1]
    assert offsets(lake.read("t", partitions=3)) == []


def test_a_stream_key_in_several_folders(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-PA-3] [QLK-DE-8]"""
    name = "Start=2025-08-21/ts_1_2_part_0_off_{}_{}.avro"
    for i, folder in enumerate(("Key=a/b", "Key=a%2Fb", "Key=a%2fb", "Key=a", "Key=a/_c/b")):
        write_segment(tmp_path / "Raw/Topic=t" / folder / name.format(i, i), records(1, first=i))
    lake = QuixLake(spark, str(tmp_path))
    assert offsets(lake.read("t", keys="a/b")) == [0, 1, 2]
    assert offsets(lake.read("t", keys="a/_c/b")) == [4]
    assert offsets(lake.read("t", keys="a%2Fb")) == []
    written = WrittenLake(tmp_path)
    literal = written.segment("a/b", records(1, first=9))
    written.describe([literal | {"Key": "a%2Fb"}])
    assert offsets(lake.read("t", keys="a%2Fb")) == [1, 9]
    assert offsets(lake.read("t", keys="a/b")) == [0, 2]
    assert offsets(lake.read("t")) == [0, 1, 2, 3, 4, 9]
