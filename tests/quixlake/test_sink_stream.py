"""Tests of streams into a lake. Rules: [QLK-SK-4]."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.quixlake.lake_files import Message, assert_lake_holds, hidden_files, segments
from xskip.errors import DatasetError
from xskip.quixlake.sink import Sink

SCHEMA = "timestamp bigint, key binary, value binary, partition int, offset bigint"


def message(offset: int) -> Message:
    return (offset, b"k%d" % (offset % 2), (), b"v", 0, offset)


def add_file(spark: SparkSession, source: Path, offsets: range) -> list[Message]:
    """Add a file to the source of a stream, and return its messages."""
    messages = [message(offset) for offset in offsets]
    rows = [(m[0], bytearray(m[1]), bytearray(m[3]), m[4], m[5]) for m in messages]
    spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(source))
    return messages


def source_of(spark: SparkSession, source: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))


def run(spark: SparkSession, tmp_path: Path, sink: Sink | None = None) -> None:
    """Run a stream over all files that are there, in a batch for each file."""
    sink = sink or Sink(spark, str(tmp_path / "lake"), "t")
    query = sink.stream(source_of(spark, tmp_path / "in"), str(tmp_path / "checkpoint"), availableNow=True)
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_a_stream_that_stops_and_restarts(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-4] Each message is in the lake once, also where a batch runs twice."""
    expected = add_file(spark, tmp_path / "in", range(10)) + add_file(spark, tmp_path / "in", range(10, 20))
    run(spark, tmp_path)
    assert_lake_holds(tmp_path / "lake", expected)
    assert len(segments(tmp_path / "lake")) == 4
    expected += add_file(spark, tmp_path / "in", range(20, 30))
    run(spark, tmp_path)
    assert_lake_holds(tmp_path / "lake", expected)
    commits = tmp_path / "checkpoint/commits"
    for path in (commits / "2", commits / ".2.crc"):  # Spark ended after the batch and before its own commit
        path.unlink()
    run(spark, tmp_path)
    assert_lake_holds(tmp_path / "lake", expected)


def test_a_new_checkpoint_is_a_new_stream(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-4] The numbers of its batches begin at 0, and its messages count."""
    expected = add_file(spark, tmp_path / "in", range(10))
    run(spark, tmp_path)
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "in")
    expected += add_file(spark, tmp_path / "in", range(10, 20))
    run(spark, tmp_path)
    assert_lake_holds(tmp_path / "lake", expected)


def test_a_batch_that_fails(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[QLK-SK-3] [QLK-SK-4] The stream continues with the same batch, whose first segments stay hidden."""
    expected = add_file(spark, tmp_path / "in", range(10))
    written = Sink.write_segments

    def fail(sink: Sink, *args: Any, **options: Any) -> Any:
        written(sink, *args, **options)
        raise RuntimeError("the driver ends")

    with monkeypatch.context() as patched:
        patched.setattr(Sink, "write_segments", fail)
        with pytest.raises(StreamingQueryException, match="the driver ends"):
            run(spark, tmp_path)
    assert_lake_holds(tmp_path / "lake", [], hidden=2)
    run(spark, tmp_path)
    assert_lake_holds(tmp_path / "lake", expected, hidden=2)
    assert len(hidden_files(tmp_path / "lake")) == 2


def test_columns_are_checked_before_the_stream_starts(spark: SparkSession, tmp_path: Path) -> None:
    """[QLK-SK-9]"""
    add_file(spark, tmp_path / "in", range(2))
    df = source_of(spark, tmp_path / "in").drop("offset")
    with pytest.raises(DatasetError, match="'offset'"):
        Sink(spark, str(tmp_path / "lake"), "t").stream(df, str(tmp_path / "checkpoint"))
    assert not (tmp_path / "checkpoint").exists()
