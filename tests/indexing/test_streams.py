"""The batches of streams get into the index. Rules: specs/writing.rst, [WRT-SS]."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import kept, metadata
from tests.indexing.writes import SIMPLE, assert_as_built, dataset, frame
from xskip import SkippingIndex
from xskip.indexing import refresh

pytestmark = pytest.mark.usefixtures("indexed_writes")

SECONDS = 60


def add_batches(spark: SparkSession, root: Path, number: int, count: int = 2) -> None:
    """Add files to a source, and let the file sink of a stream write them to a dataset in batches."""
    frame(spark, 100 * number, 20, count).write.mode("append").parquet(str(root / "source"))
    stream = spark.readStream.schema("x int, s string, p bigint").option("maxFilesPerTrigger", 1)
    query = (
        stream.parquet(str(root / "source"))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(root / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(root / "d"))
    )
    query.awaitTermination()


def wait_for(made: SkippingIndex, files: int) -> None:
    end = time.monotonic() + SECONDS
    while made.status().indexed < files:
        assert time.monotonic() < end, made.status()
        time.sleep(0.2)


def test_batches_of_the_file_sink(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-SS-1] Each batch gets into the index without a call, and queries skip its files."""
    add_batches(spark, tmp_path, 1)
    path = str(tmp_path / "d")
    made = SkippingIndex.for_path(spark, path)
    made.create(SIMPLE)
    for number in (2, 3):
        add_batches(spark, tmp_path, number)
        wait_for(made, 2 * number)
    assert made.status().missing == 0
    assert len(kept(spark, path, "x = 205")) == 1
    assert_as_built(made, SIMPLE)


def test_sessions_without_xskip(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-SS-1] A session listens once, and not any more after disable()."""
    xskip.enable(spark)
    add_batches(spark, tmp_path, 1)
    made = SkippingIndex.for_path(spark, str(tmp_path / "d"))
    made.create(SIMPLE)
    xskip.disable(spark)
    add_batches(spark, tmp_path, 2)
    time.sleep(1)
    assert made.status().missing == 2
    xskip.enable(spark)
    add_batches(spark, tmp_path, 3)
    wait_for(made, 6)


def test_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """[WRT-SS-1] The stream goes on, and the log warns once."""

    def failing(*_: object, **__: object) -> None:
        raise OSError(28, "No space left")

    add_batches(spark, tmp_path, 1)
    made = SkippingIndex.for_path(spark, str(tmp_path / "d"))
    made.create(SIMPLE)
    with monkeypatch.context() as patch:
        patch.setattr(refresh, "Refresh", failing)
        add_batches(spark, tmp_path, 2)
        end = time.monotonic() + SECONDS
        while "No space left" not in caplog.text and time.monotonic() < end:
            time.sleep(0.1)
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 1
    made.refresh()
    assert len(metadata(made)) == 4


def test_for_each_batch(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-SS-2] The session of a stream is another one, with the rule."""
    made, path = dataset(spark, tmp_path), str(tmp_path / "d")
    frame(spark, 100, 20, 4).write.parquet(str(tmp_path / "source"))
    stream = spark.readStream.schema("x int, s string, p bigint").option("maxFilesPerTrigger", 2)
    query = (
        stream.parquet(str(tmp_path / "source"))
        .writeStream.foreachBatch(lambda batch, _: batch.write.mode("append").parquet(path))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert spark.read.parquet(path).count() == 30
    assert len(metadata(made)) > 4
    assert_as_built(made, SIMPLE)
