"""An index that cannot be read differs from no index: one warning states the reason, and strict mode raises it."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.helpers import index, kept, write_once
from tests.programs import run
from xskip import MinMax
from xskip.errors import XskipError
from xskip.spark.query.spark_engine import engine_of

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


#: Queries of a program on datasets that each have a directory which it must not enter.
PROGRAM = """
import logging
import sys
from pathlib import Path
import xskip
from pyspark.sql import SparkSession

logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="warning: %(message)s")
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.warehouse.dir", sys.argv[1]).getOrCreate()
xskip.enable(spark)
for path in sys.argv[2:]:
    print("dataset:", path)
    spark.conf.set("spark.xskip.strict", "false")
    data = spark.read.parquet(path)
    for least in (5, 6, 7):
        data.filter(f"x > {least}").collect()
        print("report:", xskip.last_report(spark).headline)
    spark.conf.set("spark.xskip.strict", "true")
    try:
        data.filter("x > 8").collect()
    except Exception as error:
        print("strict:", next(line for line in str(error).splitlines() if "xskip" in line))
"""
CLOSED = ["_xskip", "_xskip/*"]
#: Starts a program of the superuser without the right to enter closed directories.
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture(scope="module")
def said_of_closed(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return what the program says of the dataset in which each directory is closed."""
    home = tmp_path_factory.mktemp("closed")
    directories: list[Path] = []
    paths = {str(home / f"data{number}"): closed for number, closed in enumerate(CLOSED)}
    for path, closed in paths.items():
        index(session, write_once(session, Path(path), "x int", FILES), [MinMax("x")])
        directories += Path(path).glob(closed)
    assert len(directories) == len(CLOSED)
    for directory in directories:
        directory.chmod(0o000)
    command = [*(BOUND if os.geteuid() == 0 else ()), sys.executable, "-c", PROGRAM]
    try:
        said = run(home, *command, str(home / "warehouse"), *paths)
    finally:
        for directory in directories:
            directory.chmod(0o755)
    parts = [part.splitlines() for part in said.split("dataset: ")[1:]]
    return {paths[part[0]]: part[1:] for part in parts}


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="nothing is closed to the superuser")
@pytest.mark.parametrize("closed", CLOSED)
def test_a_closed_directory(said_of_closed: dict[str, list[str]], closed: str) -> None:
    """[PRU-DS-1] A directory that the user must not enter may hold an index, whichever directory is closed."""
    said = said_of_closed[closed]
    (warning,) = (line for line in said if line.startswith("warning:"))
    assert "Permission denied" in warning
    reports = [line for line in said if line.startswith("report: skipped none of 2 files")]
    assert len(reports) == 3
    assert all("Permission denied" in line for line in reports)
    (strict,) = (line for line in said if line.startswith("strict:"))
    assert "xskip (strict)" in strict


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
