"""The log of Python names builds, commits and the first use of an index."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import write_files, write_once
from xskip import MinMax, SkippingIndex, ValueList

Messages = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> Messages:
    """Return a function that returns and forgets the logged messages, with their loggers and without durations."""
    caplog.set_level(logging.INFO, "xskip")

    def taken() -> list[tuple[str, str]]:
        assert {record.levelno for record in caplog.records} <= {logging.INFO}
        found = [(record.name, record.getMessage().replace(str(tmp_path), "")) for record in caplog.records]
        caplog.clear()
        return [(name, re.sub(r"\d+\.\d\d s$", "… s", re.sub("/[0-9a-f]{64}", "", text))) for name, text in found]

    return taken


def test_builds_commits_and_the_first_use_are_logged(spark: SparkSession, tmp_path: Path, messages: Messages) -> None:
    """[REP-L-1] Each once, in this order."""
    path = write_once(spark, tmp_path / "data", "secret int", {"a": [(1,)], "b": [(5,)]})
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("secret"), ValueList("secret")])
    assert messages() == [
        ("xskip.builds", "collecting the statistics of 2 files"),
        ("xskip.commits", "commit 1 of /data/_xskip: create, 2 files added and 0 removed"),
        ("xskip.builds", "create of the index of /data: 2 files added, 0 removed, 0 unchanged, in … s"),
    ]
    for _ in range(2):
        assert spark.read.parquet(path).filter("secret = 5").count() == 1
    assert messages() == [("xskip.queries", "queries use the index in /data/_xskip: commit 1, 2 files, 2 indexes")]
    write_files(spark, tmp_path / "data", "secret int", {"c": [(9,)]})
    (tmp_path / "data" / "a.parquet").unlink()
    index.refresh()
    index.refresh()
    assert spark.read.parquet(path).filter("secret = 5").count() == 1
    assert messages() == [
        ("xskip.builds", "collecting the statistics of 1 files"),
        ("xskip.commits", "commit 2 of /data/_xskip: refresh, 1 files added and 1 removed"),
        ("xskip.builds", "refresh of the index of /data: 1 files added, 1 removed, 1 unchanged, in … s"),
        ("xskip.builds", "refresh of the index of /data: 0 files added, 0 removed, 2 unchanged, in … s"),
        ("xskip.queries", "queries use the index in /data/_xskip: commit 2, 2 files, 2 indexes"),
    ]


def test_other_operations_log_their_commits(spark: SparkSession, tmp_path: Path, messages: Messages) -> None:
    """[REP-L-1] [REP-L-2] The messages have numbers and paths, and neither values nor columns."""
    path = write_once(spark, tmp_path / "data", "secret int", {"a": [(1,)], "b": [(777,)]})
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("secret")])
    messages()
    index.add([ValueList("secret")])
    index.migrate(3)
    assert len(spark.read.parquet(path).filter("secret = 777").collect()) == 1
    assert xskip.last_report(spark).skipped == 1
    assert messages() == [
        ("xskip.builds", "collecting the statistics of 2 files"),
        ("xskip.commits", "commit 2 of /data/_xskip: add, 0 files added and 0 removed"),
        ("xskip.builds", "add of the index of /data: 0 files added, 0 removed, 2 unchanged, in … s"),
        ("xskip.commits", "commit 3 of /data/_xskip: migrate"),
        ("xskip.queries", "queries use the index in /data/_xskip: commit 3, 2 files, 2 indexes"),
    ]
