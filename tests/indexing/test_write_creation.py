"""A write creates the index that an option or a property of a table requests. Rules: specs/writing.rst, [WRT-CR]."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.helpers import kept, metadata, opened_files
from tests.indexing.writes import SIMPLE, assert_as_built, dataset, frame
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.errors import ArgumentError
from xskip.indexes.definition_text import parse_indexes, text_of

pytestmark = pytest.mark.usefixtures("indexed_writes")

TEXT = "minmax(x), valuelist(s), bloomfilter(x)"
PROPERTY = f"TBLPROPERTIES ('xskip.index' = '{TEXT}')"


def _select(df: DataFrame, statement: str) -> None:
    df.createOrReplaceTempView("rows")
    df.sparkSession.sql(f"{statement} AS SELECT * FROM rows")


def _insert(df: DataFrame, path: str) -> None:
    df.createOrReplaceTempView("rows")
    spark = df.sparkSession
    spark.sql(f"CREATE TABLE t (x int, s string, p bigint) USING parquet LOCATION '{path}' {PROPERTY}")
    spark.sql("INSERT INTO t SELECT * FROM rows")


WAYS: dict[str, Callable[[DataFrame, str], None]] = {
    "save": lambda df, path: df.write.option("xskip.index", TEXT).parquet(path),
    "save as a table": lambda df, path: df.write.option("xskip.index", TEXT).option("path", path).saveAsTable("t"),
    "create table as select": lambda df, path: _select(
        df, f"CREATE TABLE t USING parquet LOCATION '{path}' {PROPERTY}"
    ),
    "the option of a table": lambda df, path: _select(
        df, f"CREATE TABLE t USING parquet OPTIONS ('xskip.index' = '{TEXT}') LOCATION '{path}'"
    ),
    "insert into a table": _insert,
    "partitions": lambda df, path: df.write.option("XSKIP.Index", TEXT).partitionBy("p").parquet(path),
    "avro": lambda df, path: df.write.option("xskip.index", TEXT).format("avro").save(path),
    "orc": lambda df, path: df.write.option("xskip.index", TEXT).format("orc").save(path),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_created_with_the_data(spark: SparkSession, tmp_path: Path, way: str) -> None:
    """[WRT-CR-1] [WRT-CR-2] The index is that of create(), and later writes and queries use it."""
    path, fmt = str(tmp_path / "d"), way if way in ("avro", "orc") else "parquet"
    WAYS[way](frame(spark, 0), path)
    made = SkippingIndex.for_path(spark, path, format=fmt)
    assert [commit.operation for commit in made.history()] == ["write"]
    if way == "partitions":
        frame(spark, 100).write.mode("append").partitionBy("p").parquet(path)
    else:
        frame(spark, 100).write.mode("append").format(fmt).save(path)
    written = [each.definition for each in metadata(made).indexes.values()]
    files = {Path(name).stem for name in metadata(made).files.names.to_pylist()}
    assert 0 < len(kept(spark, path, "x = 100", fmt)) < len(files)
    assert_as_built(made, SIMPLE)
    assert [each.definition for each in metadata(made).indexes.values()] == written


@pytest.mark.parametrize("way", ["save as a table", "the option of a table", "create table as select"])
def test_tables_by_their_names(spark: SparkSession, tmp_path: Path, way: str) -> None:
    """[WRT-CR-2] The option, which Spark keeps with the table, changes nothing for readers and later writes."""
    WAYS[way](frame(spark, 0), str(tmp_path / "d"))
    frame(spark, 100).write.insertInto("t")
    made = SkippingIndex.for_table(spark, "t")
    assert made.status().missing == 0
    assert len(opened_files(spark.table("t").where("x = 100"))) == 1
    assert made.refresh().reread == ()
    assert_as_built(made, SIMPLE)


def test_defaults_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-CR-2] The record has what the table tells of its columns, as that of create() has."""
    at = f"USING parquet LOCATION '{tmp_path}/d'"
    spark.sql(f"CREATE TABLE t (x int, y int DEFAULT 7) {at} TBLPROPERTIES ('xskip.index' = 'valuelist(y)')")
    spark.sql("INSERT INTO t SELECT CAST(id AS INT), CAST(id AS INT) FROM range(4)")
    made = SkippingIndex.for_table(spark, "t")
    assert made.refresh().reread == ()
    assert_as_built(made, [ValueList("y")])


def test_definitions_outlive_the_dataset(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-CR-2] An overwrite by a session without xskip deletes the index, and a refresh builds it again."""
    path = str(tmp_path / "d")
    WAYS["save"](frame(spark, 0), path)
    xskip.disable(spark)
    frame(spark, 0).write.mode("overwrite").parquet(path)
    made = SkippingIndex.for_path(spark, path)
    made.refresh()
    assert_as_built(made, SIMPLE)


def test_an_existing_index(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-CR-3] An append keeps the indexes of the dataset, and an overwrite replaces them."""
    made, path = dataset(spark, tmp_path), str(tmp_path / "d")
    frame(spark, 100).write.option("xskip.index", "minmax(p)").mode("append").parquet(path)
    assert len(metadata(made).indexes) == 3
    frame(spark, 100).write.option("xskip.index", "minmax(p)").mode("overwrite").parquet(path)
    assert list(metadata(made).indexes) == [("minmax", ("p",))]
    assert_as_built(made, [MinMax("p")])


def test_an_existing_dataset(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-CR-1] Files from before are left to a refresh."""
    path = str(tmp_path / "d")
    frame(spark, 0).write.parquet(path)
    frame(spark, 100).write.option("xskip.index", TEXT).mode("append").parquet(path)
    made = SkippingIndex.for_path(spark, path)
    assert (made.status().indexed, made.status().missing) == (2, 2)
    made.refresh()
    assert_as_built(made, SIMPLE)


def test_a_base_location(spark: SparkSession, tmp_path: Path) -> None:
    """[WRT-CR-1] [WRT-CR-3] The index is where create() puts it, also if an overwrite leaves it in place."""
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "md"))
    path = str(tmp_path / "d")
    WAYS["save"](frame(spark, 0), path)
    made = SkippingIndex.for_path(spark, path)
    assert made.describe().location.startswith(str(tmp_path / "md"))
    frame(spark, 100).write.mode("overwrite").parquet(path)
    assert_as_built(made, SIMPLE)
    frame(spark, 100).write.option("xskip.index", "minmax(p)").mode("overwrite").parquet(path)
    assert_as_built(made, [MinMax("p")])
    assert not (tmp_path / "d" / "_xskip").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("minmax(nothing)", "the dataset has no such column"),
        ("nomax(x)", "the index type is not known"),
        ("minmax(x", "the index definition is not valid"),
        ("bloomfilter(d)", "cannot index this type"),
        ("minmax(b)", "in other types than it has written"),
    ],
)
def test_a_wrong_request(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, why: str
) -> None:
    """[WRT-CR-4] The rows are written, without an index, and the log says why."""
    path = str(tmp_path / "d")
    rows = frame(spark, 0).selectExpr("x", "CAST(x AS DOUBLE) AS d", "CAST(x AS TINYINT) AS b")
    with caplog.at_level(logging.INFO, "xskip"):
        rows.write.format("avro").option("xskip.index", text).save(path)
    assert why in caplog.text
    assert not SkippingIndex.for_path(spark, path, format="avro").exists()
    assert spark.read.format("avro").load(path).count() == 10


@pytest.mark.parametrize("fmt", ["parquet", "json"])
def test_write(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, fmt: str) -> None:
    """The function writes with the option, and reads files only where the write could not collect."""
    path = tmp_path / "d"
    with caplog.at_level(logging.INFO, "xskip.builds"):
        made = xskip.write(frame(spark, 0).write.partitionBy("p"), path, [MinMax("x"), ValueList("s")], format=fmt)
    assert ("collecting the statistics" in caplog.text) is (fmt == "json")
    assert list(metadata(made).indexes) == [("minmax", ("x",)), ("valuelist", ("s",))]
    xskip.write(frame(spark, 100).write.partitionBy("p"), path, [MinMax("x")], format=fmt, mode="append")
    assert list(metadata(made).indexes) == [("minmax", ("x",))]
    assert (made.status().indexed, made.status().missing) == (12, 0)
    with pytest.raises(ArgumentError, match="mode"):
        xskip.write(frame(spark, 0), path, [MinMax("x")], mode="replace")
    with pytest.raises(ArgumentError, match="DataFrame"):
        xskip.write([1], path, [MinMax("x")])  # type: ignore[arg-type]


def test_texts_of_indexes() -> None:
    indexes = [MinMax("a"), ValueList("a b", max_values=3), BloomFilter("upper(s)", expression=True, fpp=0.1)]
    assert parse_indexes(", ".join(map(text_of, indexes))) == indexes
