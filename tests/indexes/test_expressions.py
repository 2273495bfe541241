"""Indexes on expressions serve filters with the same expression. Rules: specs/pruning.rst, [PRU-EX]."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.helpers import kept, opened_files, write_once
from tests.indexes.written import written
from tests.soundness.checking import ALL, NONE, Family, family
from xskip import BloomFilter, GapList, Hybrid, Index, MinMax, NullCount, Prefix, SkippingIndex, TokenBloom, ValueList
from xskip.errors import IndexDefinitionError

SCHEMA = "m map<string, int>, l array<string>, j string, a int, b int, st struct<x: array<int>>"
FILES: dict[str, list[Any]] = {
    "low": [({"k": 1, "K": 50}, ["a"], '{"t": "x1", "n": {"v": 3}}', 1, 5, ([1],)), ({"k": 2}, [], "{}", 2, 7, ([],))],
    "high": [({"k": 9}, ["a", "b", "c"], '{"t": "y7"}', 90, 5, ([1, 2],)), ({"z": 0}, ["q"], None, 80, 70, (None,))],
    "none": [(None, None, None, None, None, None), ({}, None, "not json", 5, None, None)],
}
WANTED = [
    MinMax("m['k']", expression=True), ValueList("size(l)", expression=True), NullCount("m['k']", expression=True),
    ValueList("get_json_object(j, '$.t')", expression=True), MinMax("a - b", expression=True), MinMax("a"),
    Prefix("get_json_object(j, '$.t')", length=1, expression=True), BloomFilter("upper(l[0])", expression=True),
    MinMax("size(st.x)", expression=True),
]  # fmt: skip
CASES = {
    "m['k'] = 2": "low",
    "m['k'] > 5": "high",
    "M['k'] > 5": "high",
    "m['K'] > 5": "low high none",  # another key
    "element_at(m, 'k') > 5": "low high none",  # another expression
    "m['k'] is null": "high none",
    "m['k'] is not null and m['k'] < 0": NONE,
    "m['k'] in (1, 9)": "low high",
    "m['k'] between 3 and 8": NONE,
    "size(l) = 0": "low",
    "size(l) > 2": "high",
    "size(l) <> 0": "low high none",
    "get_json_object(j, '$.t') = 'y7'": "high",
    "get_json_object(j, '$.t') like 'x%'": "low",
    "get_json_object(j, '$.t') = 'z'": NONE,
    "get_json_object(j, '$.n.v') = '3'": "low high none",
    "a - b > 50": "high",
    "a - b < -3": "low",
    "b - a > 3": "low high none",
    "a - b > 50 or m['k'] = 1": "low high",
    "not (a - b > 50)": "low high",
    "size(st.x) = 2": "high",
    "a + 0 = 90": "high",
}


@pytest.fixture(scope="module")
def made(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Family:
    session.conf.set("spark.sql.ansi.enabled", "false")
    found = family(session, tmp_path_factory.mktemp("expressions"), SCHEMA, FILES, {})
    found.add("indexed", WANTED)
    session.conf.unset("spark.sql.ansi.enabled")
    return found


def test_every_leaf(spark: SparkSession, made: Family) -> None:
    """[PRU-EX-1] [PRU-EX-2] Filters on map keys, array sizes, JSON parts and differences read the expected files."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    index = made.skipping("indexed")
    assert written(index, "minmax", "m['k']") == {
        "low": {"min": 1, "max": 2}, "high": {"min": 9, "max": 9}, "none": {"min": None, "max": None},
    }  # fmt: skip
    made.check("indexed", {case: expected.replace("low high none", ALL) for case, expected in CASES.items()})
    assert index.refresh().added == 0


@pytest.mark.parametrize("kind", [MinMax, ValueList, BloomFilter, NullCount, Prefix, Hybrid, GapList, TokenBloom])
def test_every_index_type(spark: SparkSession, tmp_path: Path, kind: Callable[..., Index]) -> None:
    """[PRU-EX-1] Each index type accepts an expression, and answers its leaves like those of a column."""
    files: dict[str, list[tuple[object, ...]]] = {
        "ab": [("a", "b", 1)],
        "xy": [("x", "y", 100)],
        "none": [(None, "b", None)],
    }
    path = write_once(spark, tmp_path / "data", "s string, t string, n int", files)
    text, there, absent = ("n * 2", "200", "7") if kind is GapList else ("concat(s, ' ', t)", "'x y'", "'q'")
    made = SkippingIndex.for_path(spark, path)
    made.create([kind(text, expression=True)])
    found: dict[str, set[str]] = {f"{text} = {there}": {"xy"}, f"{text} = {absent}": set()}
    if kind is NullCount:
        found = {f"{text} IS NULL": {"none"}, f"{text} IS NOT NULL": {"ab", "xy"}}
    assert {each: kept(spark, path, each) for each in found} == found
    assert made.refresh().added == 0


def test_other_settings_make_another_expression(spark: SparkSession, made: Family) -> None:
    """[PRU-EX-1] With ANSI, a difference or a map lookup can fail, so that it is a different expression."""
    spark.conf.set("spark.sql.ansi.enabled", "true")
    df = spark.read.parquet(made.path("indexed"))
    assert opened_files(df.filter("a - b > 50")) == made.names
    assert opened_files(df.filter("a = 90")) == {"high"}
    with pytest.raises(IndexDefinitionError, match="Spark resolves an expression differently than when it was indexed"):
        made.skipping("indexed").refresh()


def test_refused(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-EX-3] An expression must be deterministic, of Spark's own functions, and over columns in the files."""
    path = str(tmp_path / "data")
    spark.range(3).selectExpr("id a", "id % 2 p").write.partitionBy("p").parquet(path)
    spark.udf.register("mine", lambda x: x)
    index = SkippingIndex.for_path(spark, path)
    for text in ("rand() + a", "1 + 1", "a + p", "mine(a)", "(select max(a) from values (1) t(a))"):
        with pytest.raises(IndexDefinitionError, match="xskip cannot index this expression"):
            index.create([MinMax(text, expression=True)])
    for text in ("nothing + 1", "a +", "sum("):
        with pytest.raises(IndexDefinitionError, match="Spark rejects the expression"):
            index.create([MinMax(text, expression=True)])
    assert not index.exists()


@pytest.mark.parametrize("version", range(5))
def test_every_version_holds_them(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """[PRU-EX-1] A parameter records the expression, which differs from a column of the same text."""
    files = {"one": [(1, 5)], "two": [(7, 1)]}
    path = write_once(spark, tmp_path / "data", "a int, `a + 1` int", files)
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("a + 1", expression=True), ValueList("a + 1")], version=version)
    assert kept(spark, path, "a + 1 = 2") == {"one"}
    assert kept(spark, path, "`a + 1` = 5") == {"one"}
    assert kept(spark, path, "`a + 1` = 2") == set()
    index.migrate(4 - version)
    assert kept(spark, path, "a + 1 = 2") == {"one"}


def test_a_name_that_is_a_partition_for_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-EX-1] [PRU-PC-5] An index on a file column does not serve a partition column of the same name."""
    path = str(tmp_path / "data")
    spark.createDataFrame([(1, 5)], "p int, i int").coalesce(1).write.parquet(f"{path}/p=9")
    index = SkippingIndex.for_path(spark, path, options={"recursiveFileLookup": "true"})
    index.create([MinMax("p + i", expression=True)])
    by_files = spark.read.option("recursiveFileLookup", "true").parquet(path)
    assert len(opened_files(by_files.filter("p + i = 6"))) == 1
    assert len(opened_files(by_files.filter("p + i = 14"))) == 0
    assert len(opened_files(spark.read.parquet(path).filter("p + i = 14"))) == 1
    assert spark.read.parquet(path).filter("p + i = 14").count() == 1


def test_settings_that_no_argument_tells(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-EX-1] The session's time parser policy is part of the expression."""
    path = write_once(spark, tmp_path / "data", "s string", {"one": [("2020-1-5",), ("2021-01-01",)]})
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "CORRECTED")
    SkippingIndex.for_path(spark, path).create([MinMax("to_timestamp(s, 'yyyy-MM-dd')", expression=True)])
    asked = "to_timestamp(s, 'yyyy-MM-dd') = timestamp'2020-01-05 00:00:00'"
    assert kept(spark, path, asked) == set()
    spark.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    assert kept(spark, path, asked) == {"one"}
    assert spark.read.parquet(path).filter(asked).count() == 1


def test_what_cannot_be_encrypted_is_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-EX-3] An encrypted index refuses an expression with a comma, which separates columns of keys."""
    path = write_once(spark, tmp_path / "data", "s string", {"one": [("a",)]})
    with pytest.raises(IndexDefinitionError, match="an encrypted index cannot have an expression with a comma"):
        SkippingIndex.for_path(spark, path).create([MinMax("substring(s, 1, 3)", expression=True, key_label="k1")])
    with pytest.raises(IndexDefinitionError, match="xskip cannot index this expression"):
        SkippingIndex.for_path(spark, path).create([MinMax("_metadata.file_size + length(s)", expression=True)])
