"""Unknown settings and invalid values: a warning in queries, an error in operations, and the list of all settings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, kept, write_once
from tests.spark.java_classes import JavaClasses
from xskip import MinMax, SkippingIndex
from xskip.errors import SettingError, StorageError
from xskip.settings import DISCOVERY_SECONDS, SETTINGS

FILES = {"low": [(1,)], "high": [(10,)]}


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", "x int", FILES)


@pytest.fixture(autouse=True)
def _level(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING, "xskip"):
        yield


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "xskip"]


def test_a_query_warns_once_and_ignores_the_setting(
    spark: SparkSession, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """[JVM-RQ-5] The default applies in place of an invalid value."""
    index(spark, path, [MinMax("x")])
    for key, value in (("enabled", "ja"), ("evaluate", "1"), ("discovery.seconds", "abc")):
        spark.conf.set(f"spark.xskip.{key}", value)
    spark.conf.set(f"spark.xskip.evalute.{path}", "true")
    for least in (5, 6, 7):
        assert kept(spark, path, f"x > {least}") == {"high"}
    assert spark.read.parquet(path).filter("x > 8").count() == 1
    said = warnings(caplog)
    assert len(said) == 4
    assert sum("found: ja; expected: true or false" in each for each in said) == 1
    assert sum("found: 1; expected: true or false" in each for each in said) == 1
    assert sum("found: abc; expected: a time such as 60s" in each for each in said) == 1
    assert sum("xskip has no such setting" in each for each in said) == 1


def test_a_query_without_an_index_warns(spark: SparkSession, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """[JVM-RQ-5]"""
    spark.conf.set("spark.xskip.metadata.locatoin", f"{path}/md")
    assert kept(spark, path, "x > 5") == {"low", "high"}
    (said,) = [each for each in warnings(caplog) if "locatoin" in each]
    assert "did you mean spark.xskip.metadata.location?" in said


def test_enable_warns(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    spark.conf.set("spark.xskip.build.chunkFile", "7")
    xskip.enable(spark)
    xskip.enable(spark)
    (said,) = warnings(caplog)
    assert "did you mean spark.xskip.build.chunkFiles?" in said


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("spark.xskip.strict", "maybe", "true or false"),
        ("spark.xskip.discovery.seconds", "soon", "60s"),
        ("spark.xskip.build.chunkFiles", "0", "at least 1"),
        ("spark.xskip.metadata.bytesPerFile", "12 m", "128m"),
        ("spark.xskip.metadata.locaton", "/md", "did you mean spark.xskip.metadata.location"),
    ],
)
def test_operations_are_refused(spark: SparkSession, path: str, key: str, value: str, expected: str) -> None:
    """Also where the operation would not use the setting."""
    made = index(spark, path, [MinMax("x")])
    spark.conf.set(key, value)
    other = SkippingIndex.for_path(spark, path)
    for operation in (made.refresh, made.status, made.describe, made.drop, lambda: other.create([MinMax("x")])):
        with pytest.raises(SettingError, match=key) as caught:
            operation()
        assert expected in str(caught.value)
    with pytest.raises(SettingError, match=key):
        xskip.list_indexes(spark)
    spark.conf.unset(key)
    assert made.exists()


def test_sizes_and_times_of_spark_s_form(spark: SparkSession, path: str) -> None:
    for key in ("metadata.bytesPerFile", "metadata.maxBytes", "build.chunkBytes"):
        spark.conf.set(f"spark.xskip.{key}", "64m")
    spark.conf.set("spark.xskip.discovery.seconds", "2min")
    assert index(spark, path, [MinMax("x")]).status().up_to_date
    assert kept(spark, path, "x > 5") == {"high"}


@pytest.mark.parametrize("text", ["", "7", "7s", "1500ms", "2min", "2m", "1h", "1d", "abc", "-3", "5 s", "1.5s"])
def test_the_hook_reads_times_as_python_does(spark: SparkSession, text: str) -> None:
    java = JavaClasses(spark)
    spark.conf.set(DISCOVERY_SECONDS.key, text)
    settings = java.new("common.SkippingSettings", spark._jsparkSession)
    expected = DISCOVERY_SECONDS.default if DISCOVERY_SECONDS.error(text) else DISCOVERY_SECONDS.of(text)
    assert java.field("common.SkippingSettings", "rememberMs", settings) == 1000 * expected


def test_a_location_without_a_file_system(spark: SparkSession, path: str) -> None:
    spark.conf.set("spark.xskip.metadata.location", "nosuchstore://bucket/md")
    for operation in (
        lambda: SkippingIndex.for_path(spark, path).create([MinMax("x")]),
        lambda: xskip.list_indexes(spark),
    ):
        with pytest.raises(StorageError, match=r"nosuchstore://bucket/md.*No FileSystem for scheme") as caught:
            operation()
        assert "spark.xskip.metadata.location sets the path of metadata" in str(caught.value)


def test_the_list_of_settings(spark: SparkSession) -> None:
    spark.conf.set("spark.xskip.build.chunkBytes", "2g")
    spark.conf.set("spark.xskip.build.chunkFiles", "many")
    spark.conf.set("spark.xskip.strickt", "true")
    found = xskip.settings(spark)
    by_key = {each.key: each for each in found}
    assert [each.key for each in found] == [*SETTINGS, "spark.xskip.strickt"]
    assert len(found) == len(SETTINGS) + 1
    default, session, invalid, unknown = (
        by_key[f"spark.xskip.{key}"] for key in ("build.footers", "build.chunkBytes", "build.chunkFiles", "strickt")
    )
    assert (default.value, default.default, default.origin, default.problem) == ("true", "true", "default", "")
    assert (session.value, session.default, session.origin, session.problem) == ("2g", "0", "session", "")
    assert (invalid.value, invalid.default, invalid.origin) == ("many", "10000", "session")
    assert "expected: a whole number of at least 1" in invalid.problem
    assert unknown.problem == "xskip has no such setting; did you mean spark.xskip.strict?"
    assert default.meaning in str(found)
    assert "<td>spark.xskip.build.footers</td>" in found._repr_html_()
    assert found.to_arrow().column("origin").to_pylist()[-1] == "session"


def test_the_origin_of_a_value(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = spark.sparkContext.getConf().set("spark.xskip.strict", "true").set("spark.xskip.evaluate", "true")
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: conf)
    spark.conf.set("spark.xskip.strict", "true")
    spark.conf.set("spark.xskip.evaluate", "false")
    found = {each.key: each.origin for each in xskip.settings(spark)}
    assert found["spark.xskip.strict"] == "SparkConf"
    assert found["spark.xskip.evaluate"] == "session"
