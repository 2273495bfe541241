"""An index that cannot be read differs from no index: one warning states the reason, and strict mode raises it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.helpers import index, kept, opened_files, write_once
from xskip import MinMax
from xskip.errors import XskipError
from xskip.spark.query.engine import engine_of

FILES = {"low": [(1,)], "high": [(10,)]}


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", "x int", FILES)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "xskip"]


def test_a_location_that_cannot_be_looked_at(spark: SparkSession, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """[PRU-DS-1] If xskip cannot look for an index, queries read all files and log the reason once."""
    spark.conf.set("spark.xskip.metadata.location", "nosuchstore://bucket/metadata")
    spark.conf.set("spark.xskip.strict", "false")
    with caplog.at_level(logging.WARNING, "xskip"):
        for least in (5, 6, 7):
            assert kept(spark, path, f"x > {least}") == {"low", "high"}
    (said,) = warnings(caplog)
    assert 'No FileSystem for scheme "nosuchstore"' in said
    spark.conf.set("spark.xskip.strict", "true")
    with pytest.raises(Exception, match=r"xskip \(strict\).*nosuchstore"):
        spark.read.parquet(path).filter("x > 8").collect()


@pytest.fixture
def locked(spark: SparkSession, path: str) -> Iterator[Path]:
    directory = Path(index(spark, path, [MinMax("x")]).describe().location)
    assert kept(spark, path, "x > 5") == {"high"}
    yield directory
    directory.chmod(0o755)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_a_directory_of_somebody_else(
    spark: SparkSession, path: str, locked: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """[PRU-DS-1] An index is used again as soon as its directory is readable."""
    locked.chmod(0o000)
    with pytest.raises(Exception, match=r"xskip \(strict\)"):
        spark.read.parquet(path).filter("x > 5").collect()
    spark.conf.set("spark.xskip.strict", "false")
    with caplog.at_level(logging.WARNING, "xskip"):
        assert opened_files(spark.read.parquet(path).filter("x > 6")) == {"low", "high"}
    assert len(warnings(caplog)) == 1
    locked.chmod(0o755)
    assert kept(spark, path, "x > 7") == {"high"}


def test_a_message_with_a_number_of_its_own_is_said_once(
    spark: SparkSession, path: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that differ only in request numbers are one problem."""
    made = index(spark, path, [MinMax("x")])
    engine, requests = engine_of(spark), iter(range(100))

    def refused(*_: object) -> None:
        raise XskipError(f"the store is busy (request 7F{next(requests)}A)")

    spark.conf.set("spark.xskip.strict", "false")
    monkeypatch.setattr(engine.indexes, "_open", refused)
    with caplog.at_level(logging.WARNING, "xskip"):
        for least in range(3):
            assert kept(spark, made.name, f"x > {least}") == {"low", "high"}
    assert len(warnings(caplog)) == 1
