"""The border between a table and its cold tier: copies, partitions that come back, exports that meet [QDB-CT]."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.questdb
from tests.questdb.server import Server
from tests.questdb.tiers import Tiers, counted
from xskip.errors import DatasetError


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@pytest.fixture
def tiers(spark: SparkSession, server: Server, tmp_path: Path) -> Tiers:
    return Tiers(spark, server, tmp_path / "cold")


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
