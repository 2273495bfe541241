"""The diagnosis of a session and of its indexes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, write_once
from xskip import MinMax, SkippingIndex
from xskip.api import doctor
from xskip.results.diagnosis import Check, Diagnosis

ROOT = Path(__file__).parents[2]
FILES = {"low": [(1,)], "high": [(10,)]}


@pytest.fixture(params=["parquet", "avro"])
def path(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    path = write_once(spark, tmp_path / "data", "x int", FILES, request.param)
    index(spark, path, [MinMax("x")], request.param)
    return path


def named(found: Diagnosis, name: str) -> list[Check]:
    return [check for check in found if check.name == name]


def test_a_session_in_order(spark: SparkSession, path: str) -> None:
    """Every check is ok; the format of the dataset comes from its index."""
    found = xskip.doctor(spark, path)
    assert {check.name for check in found} == {
        "java", "spark", "spark-avro", "skipping", "settings", "file system", "round trip", "index",
    }  # fmt: skip
    assert [check for check in found if check.state != "ok" or check.advice] == []
    (state,) = named(found, "index")
    assert state.found == f"{path}: 2 files indexed, 0 new, 0 changed, 0 deleted"
    assert "1 of 2 files read" in named(found, "round trip")[0].found
    assert named(found, "spark")[0].found == f"Spark {spark.version}"
    assert found.is_ok
    assert "round trip" in str(found)
    assert "<td>round trip</td>" in found._repr_html_()


def test_the_session_and_the_disk_stay_as_they_were(spark: SparkSession, path: str) -> None:
    settings = dict(spark._jsparkSession.sessionState().conf().settings())
    (check,) = named(xskip.doctor(spark), "round trip")
    data = Path(check.found.split()[4].removeprefix("file:").rstrip(":"))
    assert data.name == "data"
    assert not data.parent.exists()
    assert dict(spark._jsparkSession.sessionState().conf().settings()) == settings
    assert xskip.is_enabled(spark)


def test_a_path_with_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (check,) = (check for check in named(xskip.doctor(spark, str(tmp_path / "nosuch")), "file system") if check.advice)
    assert (check.state, check.advice) == ("failure", "check the path")
    assert check.found.endswith("nosuch is empty or does not exist")


def test_indexes_that_are_not_up_to_date(spark: SparkSession, path: str) -> None:
    fmt = next(Path(path).glob("*.*")).suffix[1:]
    write_once(spark, Path(path), "x int", {"new": [(7,)]}, fmt)
    (Path(path) / f"low.{fmt}").unlink()
    (state,) = named(xskip.doctor(spark, path), "index")
    assert (state.state, state.advice) == ("warning", "call refresh()")
    assert state.found == f"{path}: 1 files indexed, 1 new, 0 changed, 1 deleted"
    SkippingIndex.for_path(spark, path, format=fmt).drop()
    (state,) = named(xskip.doctor(spark, path), "index")
    assert (state.state, state.found, state.advice) == (
        "warning",
        f"{path}: there is no index",
        "call create([...]) first",
    )


def test_all_indexes_of_a_base_location(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "md"))
    (state,) = named(xskip.doctor(spark), "index")
    assert state.found == f"no index under {tmp_path}/md"
    for name in ("one", "two"):
        index(spark, write_once(spark, tmp_path / name, "x int", FILES), [MinMax("x")])
    found = named(xskip.doctor(spark), "index")
    assert [check.found.partition(":")[0] for check in found] == [f"{tmp_path}/one", f"{tmp_path}/two"]
    assert {check.state for check in found} == {"ok"}


def test_skipping_is_off(spark: SparkSession) -> None:
    spark.conf.set("spark.xskip.enabled", "false")
    (check,) = named(xskip.doctor(spark), "skipping")
    assert (check.state, check.advice) == ("warning", "set spark.xskip.enabled to true")
    xskip.disable(spark)
    (check,) = named(xskip.doctor(spark), "skipping")
    assert (check.state, check.advice) == ("warning", "call xskip.enable(spark)")


def test_settings(spark: SparkSession) -> None:
    """Operations refuse wrong settings, so the round trip fails, too."""
    spark.conf.set("spark.xskip.metadata.locaton", "/md")
    spark.conf.set("spark.xskip.build.chunkFiles", "none")
    found = xskip.doctor(spark)
    invalid, unknown = named(found, "settings")
    assert (unknown.state, unknown.advice) == ("warning", "did you mean spark.xskip.metadata.location?")
    assert "spark.xskip.build.chunkFiles: none" in invalid.found
    assert "a whole number of at least 1" in invalid.advice
    for name in ("round trip", "index"):
        (check,) = named(found, name)
        assert (check.state, check.advice) == ("failure", "correct the settings")
    assert not found.is_ok


def test_a_location_that_cannot_be_reached(spark: SparkSession) -> None:
    spark.conf.set("spark.xskip.metadata.location", "nosuchstore://bucket/md")
    found = xskip.doctor(spark)
    (bad,) = [check for check in named(found, "file system") if check.state == "failure"]
    assert "spark.xskip.metadata.location at nosuchstore://bucket/md" in bad.found
    assert "start Spark with the package of its file system" in bad.advice
    (check,) = named(found, "round trip")
    assert (check.state, check.advice) == ("failure", bad.advice)


def test_a_round_trip_that_skips_nothing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SkippingIndex, "create", lambda *_, **__: None)
    monkeypatch.setattr(SkippingIndex, "drop", lambda *_: None)
    (check,) = named(xskip.doctor(spark), "round trip")
    assert (check.state, "2 of 2 files" in check.found) == ("failure", True)


PROGRAM = """
import xskip
from pyspark.sql import SparkSession
from xskip.hints import in_shell_words

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
for check in xskip.doctor(spark):
    print(check.name, check.state, check.advice, in_shell_words(check.advice), sep="|")
"""


def test_a_session_without_avro() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    states = {line.split("|")[0]: line.split("|")[1:] for line in ran.stdout.splitlines()}
    state, advice, in_shell = states.pop("spark-avro")
    assert state == "warning"
    assert in_shell == "for Avro files, use --avro"
    assert advice.startswith("for Avro files, start Spark with --packages org.apache.spark:spark-avro_2.1")
    assert states.pop("skipping") == ["warning", "call xskip.enable(spark)", "call xskip.enable(spark)"]
    assert states["round trip"] == ["ok", "", ""]
    assert {state for state, *_ in states.values()} == {"ok"}


@pytest.mark.parametrize(
    ("version", "python", "state", "said"),
    [
        ("4.0.1", "4.0.1", "ok", ""),
        ("4.0.0-amzn-0", "4.0.0-amzn-0", "ok", ""),
        ("4.0.1", "3.5.1", "warning", "install pyspark==4.0.1"),
        ("3.4.4", "3.4.4", "warning", "use a Spark that xskip is tested with: 3.5 or newer, below 4.4"),
        ("5.0.0", "5.0.0", "warning", "use a Spark that xskip is tested with: 3.5 or newer, below 4.4"),
    ],
)
def test_versions_of_spark(monkeypatch: pytest.MonkeyPatch, version: str, python: str, state: str, said: str) -> None:
    monkeypatch.setattr("pyspark.__version__", python)
    found: Check = doctor._spark(SimpleNamespace(version=version))  # type: ignore[arg-type]
    assert (found.name, found.state) == ("spark", state)
    assert said in str(found.advice)


@pytest.mark.parametrize(
    ("version", "state"),
    [("17.0.12", "ok"), ("25-ea", "ok"), ("21", "ok"), ("11.0.2", "failure"), ("1.8.0_392", "failure")],
)
def test_versions_of_java(version: str, state: str) -> None:
    system = SimpleNamespace(getProperty={"java.version": version}.get)
    jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=system)))
    engine: Any = SimpleNamespace(hook=SimpleNamespace(gateway=SimpleNamespace(jvm=jvm)))
    found: Check = doctor._java(engine)
    assert (found.state, found.found) == (state, f"Java {version}")
    assert bool(found.advice) == (state == "failure")


def test_an_error_of_a_check_is_its_failure() -> None:
    def run() -> list[Check]:
        raise RuntimeError("the gateway is closed")

    (found,) = doctor._guarded("spark", run)
    assert (found.name, found.state) == ("spark", "failure")
    assert "the gateway is closed" in str(found.found)
