"""Conditions on user-defined functions skip files by what they imply. Rules: specs/pruning.rst, [PRU-UF]."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import opened_files, write_once
from xskip import GeoBox, MinMax, SkippingIndex
from xskip.errors import PredicateError
from xskip.expressions.operands import Call, Column
from xskip.expressions.predicate import And, Comparison, In, Op, Predicate
from xskip.expressions.udf import FunctionCall, forget_function, implied, register_implied
from xskip.results.index_status import IndexInfo

FILES: dict[str, list[Any]] = {
    "home": [(1.0, 1.0, 1), (2.0, 2.0, 2)],
    "away": [(50.0, 50.0, 3), (51.0, 60.0, 4)],
    "line": [(1.0, 50.0, 5), (50.0, 1.0, 6)],
    "nulls": [(None, 1.0, 7)],
}


def distance(x, y, px, py):  # type: ignore[no-untyped-def]  # Spark would read hints of types in its own way
    return None if x is None or y is None else math.hypot(x - px, y - py)


def within(call: FunctionCall) -> Predicate | None:
    """Return the implication of distance(x, y, px, py) < r: x is in [px - r, px + r], and y in [py - r, py + r]."""
    arguments: tuple[Any, ...] = call.arguments
    x, y, px, py = arguments
    r: Any = call.value
    if call.op not in (Op.LT, Op.LE, Op.EQ) or not isinstance(x, Column) or not isinstance(y, Column):
        return None
    sides = ((x, px - r, px + r), (y, py - r, py + r))
    return And(tuple(
        Comparison(op, column, bound) for column, low, high in sides for op, bound in ((Op.GE, low), (Op.LE, high))
    ))  # fmt: skip


@pytest.fixture(params=["boxes", "bounds"])
def path(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    made = write_once(spark, tmp_path / "data", "x double, y double, n int", FILES)
    wanted = [GeoBox("x", "y")] if request.param == "boxes" else [MinMax("x"), MinMax("y")]
    SkippingIndex.for_path(spark, made).create([*wanted, MinMax("n")])
    return made


def opened(spark: SparkSession, path: str, condition: str | SparkColumn) -> set[str]:
    """Return the files that a query reads, after a check that its rows are those without an index."""
    df = spark.read.parquet(path)
    asked = df.filter(condition)
    files, rows = opened_files(asked), sorted(asked.select("n").collect())
    spark.conf.set("spark.xskip.enabled", "false")
    assert rows == sorted(spark.read.parquet(path).filter(condition).select("n").collect())
    spark.conf.unset("spark.xskip.enabled")
    return files


def test_distances(spark: SparkSession, path: str) -> None:
    """[PRU-UF-1] [PRU-UF-2] A Python function skips files in SQL and in DataFrames, under any connective."""
    everything = set(FILES)
    name = "distance_" + Path(path).parent.name.replace("-", "_")[-8:]
    near = spark.udf.register(name, F.udf(distance, "double"))
    sql = f"{name}(x, y, 50D, 50D) < 5"
    assert opened(spark, path, sql) == everything
    xskip.register_function(spark, near, within)
    expected = {"away"} if "boxes" in {i.name[3:] + "es" for i in _indexes(spark, path)} else {"away", "line"}
    assert opened(spark, path, sql) == expected
    assert opened(spark, path, near("x", "y", F.lit(50.0), F.lit(50.0)) <= 5.0) == expected
    assert opened(spark, path, f"{sql} AND n > 3") == expected
    assert opened(spark, path, f"{sql} OR n = 1") == {*expected, "home"}
    assert opened(spark, path, f"NOT ({sql})") == everything
    assert opened(spark, path, f"{name}(x, y, 50D, 50D) > 5") == everything
    assert opened(spark, path, f"{name}(x + 1, y, 50D, 50D) < 5") == everything  # of no column itself
    renamed = spark.read.parquet(path).select(F.col("y").alias("x"), F.col("x").alias("y"), "n")
    assert opened_files(renamed.filter(f"{name}(x, y, 1D, 50D) < 1")) <= {"home", "line", "nulls", "away"}
    assert renamed.filter(f"{name}(x, y, 1D, 50D) < 1").count() == 1
    twice = spark.read.parquet(path)
    both = twice.filter(sql).union(twice)  # the very same relation stands below the filter and beside it
    assert opened_files(both) == everything
    assert both.count() == twice.filter(sql).count() + 7
    assert opened_files(twice.filter(sql).filter(near("x", "y", F.lit(1.0), F.lit(1.0)) < 5.0)) == expected - {"away"}
    xskip.register_function(spark, near, None)
    assert opened(spark, path, sql) == everything


def _indexes(spark: SparkSession, path: str) -> tuple[IndexInfo, ...]:
    return SkippingIndex.for_path(spark, path).describe().indexes


def test_another_function_of_the_same_name(spark: SparkSession, path: str) -> None:
    """[SND-32] [PRU-UF-1] A function is identified by its code, not by its name, and must be deterministic."""
    first = spark.udf.register("my_distance", F.udf(distance, "double"))
    xskip.register_function(spark, first, within)
    asked = "my_distance(x, y, 50D, 50D) < 5"
    assert opened(spark, path, asked) < set(FILES)
    spark.udf.register("my_distance", F.udf(lambda *_: 0.0, "double"))
    assert opened(spark, path, asked) == set(FILES)
    spark.udf.register("my_distance", F.udf(distance, "double"))
    assert opened(spark, path, asked) < set(FILES)
    spark.udf.register("my_distance", F.udf(distance, "double").asNondeterministic())
    assert opened_files(spark.read.parquet(path).filter(asked)) == set(FILES)
    xskip.register_function(spark, first, None)


def test_what_fails_reads_everything(spark: SparkSession, path: str) -> None:
    """[PRU-UF-2] An error in a registered implication fails no query."""
    function = F.udf(distance, "double")

    def broken(call: FunctionCall) -> Predicate | None:
        raise RuntimeError("no idea")

    spark.conf.set("spark.xskip.strict", "false")
    xskip.register_function(spark, function, broken)
    condition = function("x", "y", F.lit(50.0), F.lit(50.0)) < 5.0
    assert opened(spark, path, condition) == set(FILES)
    xskip.register_function(spark, function, None)


_NEAR = """public class Near implements org.apache.spark.sql.api.java.UDF4 {
  public Object call(Object x, Object y, Object px, Object py) { return new Double(0.0); }
}"""


def test_functions_in_java(spark: SparkSession, path: str) -> None:
    """[PRU-UF-1] A Java function is identified by its registered name."""
    jvm: Any = spark._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_NEAR)
    near = (
        compiler.getClassLoader()
        .loadClass("Near")
        .getConstructors()[0]
        .newInstance(jvm.java.util.ArrayList().toArray())
    )
    spark._jsparkSession.udf().register("near", near, jvm.org.apache.spark.sql.types.DataTypes.DoubleType)
    asked = spark.read.parquet(path).filter("near(x, y, 50D, 50D) < 5 OR n = 1")
    assert opened_files(asked) == set(FILES)
    xskip.register_function(spark, "near", within)
    assert opened_files(asked) < set(FILES)
    xskip.register_function(spark, "near", None)
    assert opened_files(asked) == set(FILES)


@pytest.mark.parametrize(
    ("kind", "value", "is_held"),
    [
        ("int", 5, True), ("int", 2.5, False), ("int", 2**31, False), ("bigint", 2**31, True), ("int", True, False),
        ("double", 2.5, True), ("double", 2, True), ("float", 50.1, False), ("float", 50.5, True),
        ("float", math.nan, True), ("decimal(10,2)", Decimal("9.99"), True), ("decimal(10,2)", Decimal("9.994"), False),
        ("decimal(10,2)", 9.5, False), ("string", b"a", True), ("string", "a", False), ("date", 18262, True),
        ("boolean", 1, False),
    ],
)  # fmt: skip
def test_literals_are_not_rounded(kind: str, value: object, *, is_held: bool) -> None:
    """[PRU-UF-2] For an integer column, x < 2.5 does not become x < 2."""
    column = Column(("x",), kind)
    register_implied("test", lambda call: And((Comparison(call.op, column, call.value), In(column, (call.value,)))))
    asked = Comparison(Op.LT, Call("test", "f", "double", (column,)), value)
    if is_held:
        assert implied(asked) is not None
    else:
        with pytest.raises(PredicateError, match=f"f implies has a literal.*a value of {re.escape(kind)}"):
            implied(asked)
    forget_function("test")
    assert implied(asked) is None
