"""Datasets that the end-to-end tests share; they are written and indexed once, and no test changes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.e2e.days import FORMATS, write_days
from tests.e2e.star import write_star
from tests.helpers import index, write_once
from xskip import MinMax, ValueList
from xskip.spark.collect.collector import Collector

V1_SOURCES = "avro,csv,json,kafka,orc,parquet,text"
SCHEMA = "a int, s string, d double, n struct<b:struct<c:int>>"


def rows_of(number: int) -> list[tuple[Any, ...]]:
    """Return the three rows of file ``f<number>``, whose column ``a`` starts at ``10 * number``."""
    return [(10 * number + j, f"s{number}", number + j / 4, ((10 * number + j,),)) for j in range(3)]


@dataclass(frozen=True)
class Lake:
    """Files f0 to f3 of one format, plain under ``path``, and under ``parted`` by ``p`` (1: f0, f1; 2: f2, f3)."""

    spark: SparkSession
    fmt: str
    path: str
    parted: str

    def read(self, spark: SparkSession | None = None) -> DataFrame:
        return (spark or self.spark).read.format(self.fmt).load(self.path)

    def read_parted(self) -> DataFrame:
        return self.spark.read.format(self.fmt).load(self.parted)

    def file(self, name: str) -> Path:
        return Path(self.path) / f"{name}.{self.fmt}"


def make_lake(spark: SparkSession, root: Path, fmt: str) -> Lake:
    plain = write_once(spark, root / "plain", SCHEMA, {f"f{i}": rows_of(i) for i in range(4)}, fmt)
    parted = write_once(spark, root / "parted", SCHEMA, {f"p={1 + i // 2}/f{i}": rows_of(i) for i in range(4)}, fmt)
    for path in (plain, parted):
        index(spark, path, [MinMax("a"), ValueList("s"), MinMax("n.b.c")], fmt)
    return Lake(spark, fmt, plain, parted)


@pytest.fixture(scope="session")
def lakes(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lake]:
    home = tmp_path_factory.mktemp("lakes")
    return {fmt: make_lake(session, home / fmt, fmt) for fmt in ("parquet", "avro")}


@pytest.fixture(params=["v1", "v2"])
def api(request: pytest.FixtureRequest, spark: SparkSession) -> str:
    """Select Spark's first or second data source API for all file formats, without whole-stage code generation."""
    spark.conf.set("spark.sql.sources.useV1SourceList", V1_SOURCES if request.param == "v1" else "")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    return str(request.param)


@pytest.fixture(params=["parquet", "avro"])
def lake(request: pytest.FixtureRequest, spark: SparkSession, lakes: dict[str, Lake]) -> Lake:
    xskip.enable(spark)
    return lakes[request.param]


@pytest.fixture(scope="session", params=["parquet", "avro", "orc"])
def star(
    request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """Return the format and the directory of facts and days."""
    home = tmp_path_factory.mktemp("star")
    write_star(session, home, request.param)
    return request.param, str(home)


@pytest.fixture(params=["true", "false"], ids=["adaptive", "static"])
def star_views(spark: SparkSession, star: tuple[str, str], request: pytest.FixtureRequest) -> None:
    """Define the views ``f`` of the facts and ``d`` of the days."""
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    fmt, home = star
    for name, folder in (("f", "facts"), ("d", "days")):
        spark.read.format(fmt).load(f"{home}/{folder}").createOrReplaceTempView(name)


@pytest.fixture(scope="session")
def days(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the paths of files of one day each, by their formats."""
    return write_days(session, tmp_path_factory.mktemp("days"))


@pytest.fixture(params=FORMATS)
def day_view(spark: SparkSession, days: dict[str, str], api: str, request: pytest.FixtureRequest) -> None:
    """Define the view ``t`` of files of one day each."""
    spark.read.format(request.param).load(days[request.param]).createOrReplaceTempView("t")


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Return a list to which each collection of files adds the names of its indexes."""
    found: list[tuple[str, ...]] = []
    real = Collector.collect

    def noted(collector: Collector, chosen: Any) -> Any:
        found.extend([tuple(str(p.definition) for p in collector.indexes)] * len(chosen))
        return real(collector, chosen)

    monkeypatch.setattr(Collector, "collect", noted)
    return found


@pytest.fixture
def skipping_alone(spark: SparkSession) -> None:
    """Switch off what leaves out files that can match, so that scans read all files that the indexes keep."""
    for name in ("limit", "topK", "aggregates", "joins", "subqueries", "ranges"):
        spark.conf.set(f"spark.xskip.planning.{name}", "false")
