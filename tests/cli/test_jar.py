"""``xskip jar`` writes the hook's classes, which a driver then takes from its class path."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.helpers import write_once
from xskip import MinMax, SkippingIndex
from xskip.cli.main import main
from xskip.spark.bridge.compiler import classes_jar

ROOT = Path(__file__).parents[2]
QUERY = """
import sys
import xskip
from pyspark.sql import SparkSession
jar, data = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.extraClassPath", jar).getOrCreate()
try:
    xskip.enable(spark)
except xskip.errors.XskipError as error:
    print("error:", error)
else:
    from xskip.spark.bridge.gateway import hook_of
    source = hook_of(spark).rule.getClass().getProtectionDomain().getCodeSource()
    print("from the jar:", source is not None and jar in str(source.getLocation()))
    print("rows:", len(spark.read.parquet(data).filter("a = 1").collect()))
    print("skipped:", xskip.last_report(spark).scans[0].skipped)
"""


@pytest.fixture
def jar(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # all tests share the session
    assert main(["jar", "--directory", str(tmp_path / "jars")]) == 0
    (path,) = (tmp_path / "jars").iterdir()
    assert capsys.readouterr().out == f"{path}\n"
    return path


def output_of(jar: Path, data: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", QUERY, str(jar), data], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_driver_takes_the_classes_from_the_jar(spark: SparkSession, jar: Path, tmp_path: Path) -> None:
    data = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    SkippingIndex.for_path(spark, data).create([MinMax("a")])
    assert output_of(jar, data) == "from the jar: True\nrows: 1\nskipped: 2\n"


def test_the_classes_are_compiled_once(spark: SparkSession) -> None:
    """The driver's class loader, the executors and a jar get the classes of one compilation."""
    assert classes_jar(spark) is classes_jar(spark)


def test_a_jar_of_other_sources_is_refused(jar: Path, tmp_path: Path) -> None:
    """The error names the jar, both versions, and what to do."""
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b"Implementation-Version: ", b"Implementation-Version: 0"))
    output = output_of(other, "")
    assert output.startswith("error: a jar on the class path contains the hook of another version of xskip")
    assert str(other) in output
    assert "python -m xskip jar" in output


def test_a_directory_that_cannot_be_written_is_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert main(["jar", "--directory", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("xskip: cannot write the jar")
    assert str(file) in error
    assert len(error.splitlines()) == 1
