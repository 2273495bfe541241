"""Queries skip although Spark removes fields of structs from a scan's schema. Rules: specs/pruning.rst, [PRU-RD-2]."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import AVRO_V2, index, opened_files, write_files
from tests.soundness.checking import same_rows_of_each
from xskip import MinMax, NullCount, SkippingIndex
from xskip.errors import IndexDefinitionError

SCHEMA = (
    "k int, st struct<a: int, b: string, q: struct<z: bigint>>, arr array<struct<a: int, b: string>>, "
    "m map<string, struct<a: int, b: string>>"
)
FILES = {
    name: [(k, (k, "b", (k,)), [(k, "b")], {"x": (k, "b")}) for k in values]
    for name, values in (("low", (1, 2)), ("high", (10, 20)))
}
V1 = "avro,csv,json,orc,parquet"


@pytest.mark.parametrize("v1", [V1, "" if AVRO_V2 else "avro"], ids=["v1", "v2"])
@pytest.mark.parametrize("fmt", ["parquet", "orc", "avro", "json"])
def test_queries_of_some_fields_skip(spark: SparkSession, tmp_path: Path, fmt: str, v1: str) -> None:
    """[PRU-RD-2] The fields that a query reads do not change the way in which it reads them."""
    spark.conf.set("spark.sql.sources.useV1SourceList", v1)
    path, schema = write_files(spark, tmp_path / "data", SCHEMA, FILES, fmt), SCHEMA if fmt == "json" else None
    made = SkippingIndex.for_path(spark, path, format=fmt, schema=schema)
    made.create([MinMax("k"), MinMax("st.a"), MinMax("st.q.z")])

    predicates = ("k > 5", "st.a > 5 AND st.q.z > 5")
    fields = ("st.a", "st.q.z", "arr.b", "m['x'].a", "k")

    def queries(field_as: str = "{}") -> list[DataFrame]:
        df = (spark.read.schema(schema) if schema else spark.read).format(fmt).load(path)
        return [df.filter(each).selectExpr(f"{field_as.format(field)} AS f") for each in predicates for field in fields]

    assert [opened_files(df) for df in queries()] == [{"high"}] * 10
    assert same_rows_of_each(lambda: queries("CAST({} AS string)"), spark) == [2] * 10


@pytest.mark.parametrize("given", ["setting", "option"])
def test_fields_of_orc_that_go_by_position(spark: SparkSession, tmp_path: Path, given: str) -> None:
    """[PRU-RD-2] Without the fields before it, a field by position has the values of another field."""
    forced = {"orc.force.positional.evolution": "true", "orc.force.positional.evolution.level": "9"}
    options = forced if given == "option" else {}
    if given == "setting":
        for key, value in forced.items():
            spark.conf.set(key, value)
    path = write_files(spark, tmp_path / "data", SCHEMA, FILES, "orc")
    for column in ("st.a", "st.b", "st"):
        with pytest.raises(IndexDefinitionError, match="depend on the columns that a query reads"):
            index(spark, path, [NullCount(column)], "orc", **options)
    index(spark, path, [MinMax("k")], "orc", **options)
    assert opened_files(spark.read.options(**options).orc(path).filter("k > 5")) == {"high"}


@pytest.mark.parametrize("given", ["setting", "option"])
def test_fields_of_an_index_by_name_are_not_used_by_position(spark: SparkSession, tmp_path: Path, given: str) -> None:
    """[PRU-RD-2]"""
    path = write_files(spark, tmp_path / "data", SCHEMA, FILES, "orc")
    index(spark, path, [MinMax("st.a"), MinMax("st.b")], "orc")
    forced = {"orc.force.positional.evolution": "true", "orc.force.positional.evolution.level": "9"}
    if given == "setting":
        for key, value in forced.items():
            spark.conf.set(key, value)
    spark.conf.set("spark.xskip.strict", "false")
    read = spark.read.options(**(forced if given == "option" else {})).orc(path)
    assert opened_files(read.filter("st.a > 5").selectExpr("st.a")) == {"low", "high"}
