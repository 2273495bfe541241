"""Corrupt records of JSON and XML, whose values depend on the columns that a query reads. Rules: [PRU-RD-12]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import assert_same_rows, needs_spark_4, opened_files
from xskip import BloomFilter, MinMax, NullCount, SkippingIndex, ValueList
from xskip.errors import IndexDefinitionError

JSON = "a int, c struct<x: int, y: int>"
LINES = {
    "clean": '{"a": 1, "c": {"x": 1}}\n{"a": 2}\n',
    "kept": '{"a": 5, "c": {"x": 1, "y": nope}}\n{"a": 1}\n',
    "other": '{"a": "text", "c": {"x": "text"}}\n{"a": 3}\n',
}


def write(root: Path, fmt: str, texts: dict[str, str]) -> str:
    for name, text in texts.items():
        (root / f"{name}.{fmt}").write_text(text)
    return str(root)


@pytest.mark.parametrize("indexes", [[MinMax("a"), ValueList("a")], [BloomFilter("a")], [NullCount("a")]])
def test_values_before_an_error_in_a_struct(spark: SparkSession, tmp_path: Path, indexes: list[Any]) -> None:
    """[SND-31] [PRU-RD-12] Spark keeps ``a`` if it reads the struct with the error, and drops it otherwise."""
    path = write(tmp_path, "json", LINES)
    SkippingIndex.for_path(spark, path, format="json", schema=JSON).create(indexes)

    def read(condition: str, *columns: str) -> DataFrame:
        return spark.read.schema(JSON).json(path).filter(condition).select(*columns)

    for columns in (("a",), ("a", "c"), ("c",)):
        for condition in ("a = 5", "a IS NULL", "a = 1"):
            assert_same_rows(lambda c=condition, s=columns: read(c, *s), spark)
    assert len(read("a = 5", "a", "c").collect()) == 1
    if not isinstance(indexes[0], NullCount):
        assert "clean" not in opened_files(read("a = 5", "a", "c"))
        assert "kept" in opened_files(read("a = 77", "a"))


def test_flat_records_and_strict_modes_have_all_statistics(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-RD-12] Without nested columns, or where corrupt records fail, the statistics are known."""
    path = write(tmp_path, "json", {"one": '{"a": 5, "b": nope}\n{"a": 1}\n', "two": '{"a": 9}\n'})
    SkippingIndex.for_path(spark, path, format="json", schema="a int, b int").create([MinMax("a")])
    assert opened_files(spark.read.schema("a int, b int").json(path).filter("a = 9")) == {"two"}


def test_records_beside_one_with_another_type(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] [PRU-RD-12] Without partial results, Spark drops all records of a line with a value of another type."""
    path = write(tmp_path, "json", {"one": '[{"a": 5}, {"a": 6, "b": "s"}]\n{"a": 1}\n', "two": '{"a": 9}\n'})
    spark.conf.set("spark.sql.json.enablePartialResults", "false")
    SkippingIndex.for_path(spark, path, format="json", schema="a int, b int").create([NullCount("a"), MinMax("a")])

    def read(condition: str, *columns: str) -> DataFrame:
        return spark.read.schema("a int, b int").json(path).filter(condition).select(*columns)

    for columns in (("a",), ("a", "b")):
        for condition in ("a IS NULL", "a = 6", "a = 9"):
            assert_same_rows(lambda c=condition, s=columns: read(c, *s), spark)
    assert len(read("a IS NULL", "a", "b").collect()) == 1
    assert opened_files(read("a = 77", "a")) == {"one"}
    with pytest.raises(Exception, match="the schema given to json differs"):
        spark.read.schema("a int, b string").json(path).filter("a = 9").collect()


def test_the_first_nested_column_of_a_schema(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] [PRU-RD-12] [PRU-RD-13] The build had no reason to leave out corrupt records; a refresh has."""
    path = write(tmp_path, "json", LINES)
    SkippingIndex.for_path(spark, path, format="json", schema="a int").create([MinMax("a")])
    assert opened_files(spark.read.schema("a int, b int").json(path).filter("a = 2")) == {"clean"}

    def read() -> DataFrame:
        return spark.read.schema(JSON).json(path).filter("a = 5")

    with pytest.raises(Exception, match="its first column with structs"):
        read().collect()
    result = SkippingIndex.for_path(spark, path, format="json", schema=JSON).refresh()
    assert (result.added, len(result.reread)) == (3, 1)
    assert opened_files(read().select("a", "c")) == {"kept", "other"}
    assert len(read().select("a", "c").collect()) == 1


XML = "a int, b int, c struct<x: int, y: int>"
ROWS = {
    "clean": "<r><a>1</a><b>2</b></r><r><a>2</a></r>",
    "bad": "<r><b>text</b><a>5</a></r><r><a>8</a></r>",
    "nested": "<r><c><x>1</x><y>text</y></c><a>6</a></r>",
}


@needs_spark_4("has no XML")
def test_values_behind_an_error_in_xml(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-31] [PRU-RD-12] Spark drops ``a`` if it reads the column with the error, and keeps it otherwise."""
    path = write(tmp_path, "xml", {name: f"<rs>{rows}</rs>" for name, rows in ROWS.items()})
    options = {"rowTag": "r"}
    made = SkippingIndex.for_path(spark, path, format="xml", schema=XML, options=options)
    with pytest.raises(IndexDefinitionError, match="depend on the columns"):
        SkippingIndex.for_path(spark, path, format="xml", schema=f"{XML}, xs_any string", options=options).create(
            [MinMax("xs_any")]
        )
    made.create([MinMax("a"), NullCount("a"), ValueList("b")])

    def read(condition: str, *columns: str) -> DataFrame:
        return spark.read.format("xml").options(**options).schema(XML).load(path).filter(condition).select(*columns)

    for columns in (("a",), ("a", "b"), ("a", "c"), ("a", "b", "c")):
        for condition in ("a IS NULL", "a = 5", "a = 6", "a = 8", "b = 2"):
            assert_same_rows(lambda c=condition, s=columns: read(c, *s), spark)
    assert len(read("a IS NULL", "a", "b").collect()) == 1
    assert opened_files(read("a IS NULL", "a", "b")) == {"bad", "nested"}
    assert opened_files(read("b = 2", "a")) == {"clean", "bad", "nested"}
