"""Indexes of topics keep statistics for parts of large segments. Rules: [MDS-PT-5], [QLK-IX-7], [PLN-RG-1]."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.e2e.parts import plain
from tests.quixlake.lakes import START, WrittenLake
from tests.quixlake.written import message, write_segment, write_zipped
from xskip import BloomFilter, SkippingIndex
from xskip.quixlake import QuixLake

COUNT = 3000
SENT = [message(i, timestamp=START + 1000 * i, key=f"key-{i // 10}".encode(), partition=0) for i in range(COUNT)]
MINUTE = f"timestamp >= {START + 600_000} AND timestamp < {START + 660_000}"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, small_parts: None) -> QuixLake:
    """Return a lake with a segment of many small blocks, of one message each second, that a descriptor describes."""
    written = WrittenLake(tmp_path)
    described = written.segment("a", SENT)
    path = tmp_path / described["Path"].partition("workspace/")[2]
    write_segment(path, SENT, sync_interval=800)
    written.describe([{**described, "FileSizeBytes": path.stat().st_size}], exact=True)
    return QuixLake(spark, str(tmp_path))


def read_share(spark: SparkSession, df: DataFrame) -> float:
    """Run a query, compare its rows with those of a query without xskip, and return the share of the bytes it read."""
    found = sorted(map(str, df.collect()))
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = report.scans
    assert found == sorted(map(str, plain(spark, df.collect)))
    return scan.kept_bytes / scan.bytes


def test_a_minute_and_a_key_read_parts(spark: SparkSession, lake: QuixLake) -> None:
    """[QLK-IX-7] The bounds of the segment are those of its descriptor, and those of parts come from the messages."""
    index = lake.index("t")
    index.create([BloomFilter("key")], parts=2000)
    assert (index.describe().parts or 0) > 15
    assert read_share(spark, lake.read("t").filter(MINUTE)) < 0.2
    assert read_share(spark, lake.read("t").filter("key = X'" + b"key-77".hex() + "'")) < 0.2
    assert read_share(spark, lake.read("t").filter("offset BETWEEN 2990 AND 3100")) < 0.2
    assert index.validate().wrong == ()
    assert lake.read("t").count() == COUNT


def test_descriptors_alone_have_no_parts(spark: SparkSession, lake: QuixLake) -> None:
    """[QLK-IX-7] No message is read for parts alone."""
    index = lake.index("t")
    index.create(parts=2000)
    assert index.describe().parts == 0


def test_distinct_offsets_read_whole_segments(spark: SparkSession, lake: QuixLake) -> None:
    """[PLN-RG-4] The first message of an offset can be in another part than the others."""
    lake.index("t").create([BloomFilter("key")], parts=2000)
    df = lake.read("t", distinct_offsets=True).filter(MINUTE)
    assert df.count() == 60
    report = xskip.last_report(spark)
    assert report is not None
    assert [scan.kept_bytes == scan.bytes for scan in report.scans] == [True]


def test_segments_in_gzip(spark: SparkSession, lake: QuixLake) -> None:
    """[MDS-PT-2] Their first range has all messages."""
    path = Path(str(lake.base)) / "Raw/Topic=z/Key=a/Start=2025-08-21/z.avro.gz"
    write_zipped(path, SENT)
    index: SkippingIndex = lake.index("z")
    index.create([BloomFilter("key")], parts=1000)
    assert lake.read("z").filter(MINUTE).count() == 60
    assert lake.read("z").filter("key = X'" + b"key-77".hex() + "'").count() == 10
