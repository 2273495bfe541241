"""The border between a table and its cold tier: copies, partitions that come back, exports that meet [QDB-CT]."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.questdb
from tests.questdb.server import Server
from tests.questdb.tiers import Tiers, counted
from xskip.errors import DatasetError
from xskip.questdb.export import Export


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@pytest.fixture
def tiers(spark: SparkSession, server: Server, tmp_path: Path) -> Tiers:
    return Tiers(spark, server, tmp_path / "cold")


def first(monkeypatch: pytest.MonkeyPatch, target: Any, name: str, action: Callable[[], None]) -> None:
    """Run an action before the first call of a function."""
    plain = getattr(target, name)

    def patched(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(target, name, plain)
        action()
        return plain(*arguments, **named)

    monkeypatch.setattr(target, name, patched)


def test_a_former_copy_of_a_table(tiers: Tiers, tmp_path: Path) -> None:
    """[QDB-CT-4]: a partition that has some of the exported rows was not dropped."""
    copy = shutil.copytree(tiers.server.folder(tiers.name), tmp_path / "copy")
    tiers.late(0, 1000)
    tiers.export(datetime(1970, 1, 3))
    with pytest.raises(DatasetError, match="its rows do not tell how"):
        xskip.questdb.union(copy, str(tiers.cold), spark=tiers.spark)


def test_a_partition_comes_back(tiers: Tiers) -> None:
    """[QDB-CT-4]: also if the table was exported while it did not have the partition."""
    expected = tiers.rows()
    df = tiers.union()
    tiers.export(datetime(1970, 1, 3))
    tiers.run("alter table {t} detach partition list '1970-01-01'")
    assert counted(df) == expected
    tiers.export(datetime(1970, 1, 4))
    (detached,) = tiers.server.folder(tiers.name).glob("1970-01-01*.detached")
    detached.rename(detached.with_name("1970-01-01.attachable"))
    tiers.run("alter table {t} attach partition list '1970-01-01'")
    assert tiers.rows() == expected
    assert counted(df) == expected
    tiers.export(datetime(1970, 1, 4))
    assert counted(df) == counted(tiers.union()) == expected
    tiers.run("alter table {t} drop partition list '1970-01-01'")
    assert counted(df) == expected


def test_late_rows_during_an_export_are_not_dropped(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement names no partition with rows that are not exported."""
    tiers.export(datetime(1970, 1, 2))

    def late() -> None:
        tiers.server.exec("checkpoint create")  # the server keeps the former folders
        tiers.late(0, 1000)
        tiers.late(1, 2000)

    first(monkeypatch, Export, "_commit", late)
    try:
        result = tiers.export(datetime(1970, 1, 4))
    finally:
        tiers.server.exec("checkpoint release")
    expected = tiers.rows()
    assert result.partitions == ("1970-01-02", "1970-01-03")
    assert result.drop_statement.endswith("DROP PARTITION LIST '1970-01-03';")
    tiers.run(result.drop_statement)
    assert counted(tiers.union()) == expected
