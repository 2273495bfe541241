"""Columns of a table that became others after an export. Rules: [QDB-CT-8]."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.errors.exceptions.captured import IllegalArgumentException as CapturedError
from pyspark.sql import SparkSession

import xskip
import xskip.questdb
from tests.questdb.server import Server
from tests.questdb.tiers import Tiers, counted


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


@pytest.fixture
def tiers(spark: SparkSession, server: Server, tmp_path: Path) -> Tiers:
    """Return a table of which two days are exported and dropped."""
    tiers = Tiers(spark, server, tmp_path / "cold")
    tiers.run(
        "alter table {t} add column i int",
        "alter table {t} add column b byte",
        "alter table {t} add column f float",
        "insert into {t} select (3600000000L * x)::timestamp, 500 + x, 'c', x::int, x::byte, x::float "
        "from long_sequence(100)",
    )
    return tiers


CHANGES = {
    "rename": ["alter table {t} rename column x to y"],
    "add": ["alter table {t} add column n symbol", "alter table {t} add column z short"],
    "drop": ["alter table {t} drop column s"],
    "other column of the name": ["alter table {t} drop column s", "alter table {t} add column s symbol"],
    "wider": ["alter table {t} alter column i type long"],
    "to double": ["alter table {t} alter column f type double"],
    "from byte": ["alter table {t} alter column b type int"],
    "text": ["alter table {t} alter column s type varchar"],
    "exchange": [
        "alter table {t} rename column x to tmp",
        "alter table {t} rename column i to x",
        "alter table {t} rename column tmp to i",
    ],
}


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("change", CHANGES)
def test_changed_columns(tiers: Tiers, change: str) -> None:
    """[QDB-CT-4], [QDB-CT-8]: the union has the values that the table has, or had before partitions were dropped.

    Late rows of an exported partition that is not dropped come after the change.
    """
    result = tiers.export(datetime(1970, 1, 3))
    tiers.run(*CHANGES[change])
    expected = tiers.rows()
    assert counted(tiers.union()) == expected
    tiers.run(result.drop_statement)
    assert xskip.questdb.open(tiers.folder).count() < sum(expected.values())
    assert counted(tiers.union()) == expected
    tiers.export(datetime(1970, 1, 5))
    tiers.run("alter table {t} drop partition list '1970-01-03'")
    assert counted(tiers.union()) == expected


def test_bytes_in_avro(tiers: Tiers) -> None:
    """[QDB-CT-8]: a column that is wider in files than in the table."""
    expected = tiers.rows()
    result = tiers.export(datetime(1970, 1, 3), file_format="avro")
    tiers.run(result.drop_statement)
    df = tiers.union()
    assert counted(df) == expected
    assert df.schema["b"].dataType.simpleString() == "tinyint"


def test_a_change_that_loses_values(tiers: Tiers) -> None:
    """[QDB-CT-8]."""
    tiers.export(datetime(1970, 1, 3))
    tiers.run("alter table {t} alter column x type int")
    with pytest.raises(xskip.errors.DatasetError, match="a former type"):
        tiers.union()


def test_columns_change_under_a_dataframe(tiers: Tiers) -> None:
    """[QDB-CT-8]."""
    df = tiers.union()
    tiers.export(datetime(1970, 1, 3))
    tiers.run("alter table {t} add column n int")
    assert df.where("x >= 0").count() == 200
    tiers.run("alter table {t} drop column s", "alter table {t} add column s symbol")
    with pytest.raises((IllegalArgumentException, CapturedError, Exception), match=r"xskip\.questdb\.union again"):
        df.count()


def test_the_report_has_a_scan_for_each_group_of_files(tiers: Tiers) -> None:
    """[QDB-CT-6]: files with other columns than others are read by another scan, also if they are as many."""
    first = tiers.export(datetime(1970, 1, 2), [xskip.MinMax("x")])
    tiers.run(first.drop_statement, "alter table {t} alter column i type long")
    tiers.export(datetime(1970, 1, 3))
    assert tiers.union().where("x = 1").count() == 1
    cold = [scan for scan in xskip.last_report(tiers.spark).scans if str(tiers.cold) in scan.dataset]
    assert sorted((scan.files, scan.kept) for scan in cold) == [(1, 0), (1, 1)]
