"""An index is created, refreshed, inspected and dropped, by path and by table."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import RDD
from pyspark.sql import SparkSession

import xskip
from tests.e2e.datasets import SCHEMA, by_name, jobs, rows
from tests.helpers import SPARK_4, index, opened_files, write_once
from xskip import BloomFilter, MinMax, Prefix, SkippingIndex, ValueList
from xskip.errors import (
    DatasetError,
    IndexDefinitionError,
    IndexExistsError,
    MetadataNotFoundError,
    UnsupportedTypeError,
)


@pytest.fixture(params=["parquet", "avro"])
def fmt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(spark: SparkSession, fmt: str, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", SCHEMA, rows(0, 1, 2), fmt)


def test_an_index_can_be_created_inspected_and_dropped(spark: SparkSession, path: str, fmt: str) -> None:
    made = SkippingIndex.for_path(spark, path, format=fmt)
    assert not made.exists()
    created = made.create([MinMax("a"), ValueList("S", max_values=5), BloomFilter("a", fpp=0.05)])
    assert (created.added, created.removed, created.unchanged, created.failed) == (3, 0, 0, ())
    assert made.exists()
    described = made.describe()
    assert described.dataset == path
    assert described.location.startswith(f"{path}/_xskip/")
    assert (described.format, described.version, described.commit, described.files) == (fmt, 4, 1, 3)
    assert [(i.name, i.columns, i.types) for i in described.indexes] == [
        ("minmax", ("a",), ("int",)),
        ("valuelist", ("s",), ("string",)),
        ("bloomfilter", ("a",), ("int",)),
    ]
    assert described.metadata_bytes == sum(f.stat().st_size for f in Path(described.location).glob("*.parquet"))
    sizes = [i.bytes for i in described.indexes]
    assert all(sizes)
    assert sum(size or 0 for size in sizes) < described.metadata_bytes
    assert described.to_arrow().column("bytes").to_pylist() == sizes
    status = made.status()
    assert (status.version, status.indexed, status.missing, status.stale) == ("CURRENT", 3, 0, 0)
    assert status.up_to_date
    kept = made.files("a = 1")
    assert [Path(name).stem for name in kept.names] == ["f1"]
    assert (len(kept), kept.total) == (1, 3)
    assert kept.total_bytes == sum(f.stat().st_size for f in Path(path).glob(f"*.{fmt}"))
    assert [i.dataset for i in xskip.list_indexes(spark) if i.dataset == path] == [path]
    dropped = made.drop()
    assert (dropped.location, dropped.metadata_files) == (described.location, 1)
    assert not made.exists()
    assert not Path(described.location).exists()
    assert len(list(Path(path).glob(f"*.{fmt}"))) == 3


def test_a_build_leaves_the_user_s_session_in_place(spark: SparkSession, path: str, fmt: str) -> None:
    to_df = RDD.toDF
    index(spark, path, [MinMax("a")], fmt)
    assert RDD.toDF is to_df  # PySpark binds it to the session that was made last
    assert SparkSession.active()._jsparkSession.equals(spark._jsparkSession)


def test_a_second_create_is_refused(spark: SparkSession, path: str, fmt: str) -> None:
    made = index(spark, path, [MinMax("a")], fmt)
    before = by_name(made)
    with pytest.raises(IndexExistsError, match=r"refresh\(\).*drop\(\)") as caught:
        SkippingIndex.for_path(spark, path, format=fmt).create([ValueList("s")])
    assert caught.value.where == made.describe().location
    assert by_name(made) == before
    made.drop()
    made.create([ValueList("s")])
    assert [i.name for i in made.describe().indexes] == ["valuelist"]


@pytest.mark.parametrize("call", ["refresh", "optimize", "describe", "status", "drop"])
def test_operations_without_an_index_raise_an_error(spark: SparkSession, path: str, fmt: str, call: str) -> None:
    made = SkippingIndex.for_path(spark, path, format=fmt)
    with pytest.raises(MetadataNotFoundError, match="create") as caught:
        getattr(made, call)()
    assert caught.value.where
    assert caught.value.where.startswith(path)
    with pytest.raises(MetadataNotFoundError, match="create"):
        made.files("a = 1")
    assert len(made.files("a = 1", require_index=False)) == 3  # without an index every file must be read


def test_refresh_of_nothing_runs_no_job(spark: SparkSession, path: str, fmt: str) -> None:
    made = SkippingIndex.for_path(spark, path, format=fmt, schema=SCHEMA)
    assert jobs(spark, lambda: made.create([ValueList("s")])) >= 1
    location = Path(made.describe().location)
    before = sorted((p.name, p.stat().st_mtime_ns) for p in location.rglob("*"))
    results: list[Any] = []
    assert jobs(spark, lambda: results.append(made.refresh())) == 0
    assert (results[0].added, results[0].removed, results[0].unchanged) == (0, 0, 3)
    assert sorted((p.name, p.stat().st_mtime_ns) for p in location.rglob("*")) == before


def test_a_refresh_follows_added_changed_and_deleted_files(
    spark: SparkSession, path: str, fmt: str, tmp_path: Path
) -> None:
    made = index(spark, path, [MinMax("a"), ValueList("s")], fmt)
    before = by_name(made)
    fresh = Path(write_once(spark, tmp_path / "fresh", SCHEMA, {**rows(7, 8), "f1": [(100, "x")]}, fmt))
    (fresh / f"f7.{fmt}").rename(Path(path) / f"f7.{fmt}")  # appended
    Path(path, f"f1.{fmt}").unlink()
    (fresh / f"f1.{fmt}").rename(Path(path) / f"f1.{fmt}")  # overwritten
    Path(path, f"f2.{fmt}").unlink()  # deleted
    status = made.status()
    assert (status.indexed, status.missing, status.stale) == (1, 2, 2)
    assert not status.up_to_date
    assert sorted(Path(n).stem for n in made.files("a = 0").names) == ["f0", "f1", "f7"]  # those not known are read
    result = made.refresh()
    assert (result.added, result.removed, result.unchanged) == (2, 2, 1)
    after = by_name(made)
    assert set(after) == {"f0", "f1", "f7"}
    assert after["f0"] == before["f0"]
    assert after["f1"] == [{"min": 100, "max": 100}, ["x"]]
    assert after["f7"] == [{"min": 7, "max": 7}, ["s7"]]
    assert made.status().up_to_date
    assert [Path(n).stem for n in made.files("a = 0").names] == ["f0"]
    (fresh / f"f8.{fmt}").rename(Path(path) / f"f8.{fmt}")
    live = {f.name for f in Path(made.describe().location).glob("*.parquet")}
    assert (made.refresh().added, made.describe().commit) == (1, 3)
    # an append leaves the files of all other rows as they are
    assert live < {f.name for f in Path(made.describe().location).glob("*.parquet")}
    assert by_name(made) == {**after, "f8": [{"min": 8, "max": 8}, ["s8"]]}


def test_a_refresh_of_an_emptied_dataset_removes_all_files(spark: SparkSession, path: str, fmt: str) -> None:
    made = SkippingIndex.for_path(spark, path, format=fmt, schema=SCHEMA)
    made.create([MinMax("a")])
    for file in Path(path).glob(f"*.{fmt}"):
        file.unlink()
    result = made.refresh()
    assert (result.added, result.removed, result.unchanged) == (0, 3, 0)
    assert len(made.files("a = 1")) == 0


def test_a_file_with_another_time_is_another_file(spark: SparkSession, path: str, fmt: str) -> None:
    made = index(spark, path, [MinMax("a")], fmt)
    file = Path(path, f"f1.{fmt}")
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 5_000_000_000))
    assert len(made.files("a = 0")) == 2
    result = made.refresh()
    assert (result.added, result.removed, result.unchanged) == (1, 1, 2)


def test_two_instances_share_one_index(spark: SparkSession, path: str, fmt: str) -> None:
    index(spark, path, [MinMax("a")], fmt)
    other = SkippingIndex.for_path(spark, f"file://{path}/", format=fmt)
    assert other.exists()
    assert other.describe().dataset == path
    assert other.refresh().unchanged == 3
    other.drop()
    assert not SkippingIndex.for_path(spark, path, format=fmt).exists()


def test_an_index_that_another_process_made_anew(spark: SparkSession, path: str, fmt: str) -> None:
    """The first commits of the old and of the new index have the same number."""
    made = index(spark, path, [MinMax("a")], fmt)
    directory = Path(made.describe().location)
    aside = directory.with_name("aside")
    directory.rename(aside)
    index(spark, path, [ValueList("s")], fmt)
    read = spark.read.format(fmt).load(path)
    assert opened_files(read.filter("s = 's1'")) == {"f1"}  # now this process uses the second index
    directory.rename(directory.with_name("other"))
    aside.rename(directory)
    assert opened_files(read.filter("a = 1")) == {"f1"}
    assert opened_files(read.filter("s = 's1'")) == {"f0", "f1", "f2"}


def test_a_table_and_its_path_share_one_index(spark: SparkSession, path: str, fmt: str) -> None:
    spark.sql(f"CREATE TABLE made (a INT, s STRING) USING {fmt} LOCATION '{path}'")
    made = SkippingIndex.for_table(spark, "made")
    assert made.name == "made"
    assert made.create([MinMax("a")]).added == 3
    assert SkippingIndex.for_path(spark, path, format=fmt).exists()
    spark.sql("INSERT INTO made VALUES (9, 'new')")
    assert made.status().missing == 1
    assert made.refresh().added == 1
    assert [size > 0 for size in made.files("a = 9").files.sizes.to_pylist()] == [True]
    made.drop()
    assert spark.table("made").count() == 7


def test_a_base_location_contains_the_indexes(spark: SparkSession, path: str, fmt: str, tmp_path: Path) -> None:
    base = tmp_path / "base"
    spark.conf.set("spark.xskip.metadata.location", str(base))
    assert len(xskip.list_indexes(spark)) == 0
    made = index(spark, path, [MinMax("a"), ValueList("s")], fmt)
    assert Path(made.describe().location).parent == base
    assert not Path(path, "_xskip").exists()
    (listed,) = xskip.list_indexes(spark)
    assert (listed.dataset, listed.files, listed.location) == (path, 3, made.describe().location)
    assert len(listed.indexes) == 2
    assert "minmax" in listed.indexes[0]
    spark.conf.unset("spark.xskip.metadata.location")
    assert not SkippingIndex.for_path(spark, path, format=fmt).exists()


REFUSED: dict[str, tuple[list[Any], type[Exception], str]] = {
    "no index": ([], IndexDefinitionError, "at least one"),
    "no such column": ([MinMax("nope")], IndexDefinitionError, "one of a, s, n"),
    "no such field": ([MinMax("n.x")], IndexDefinitionError, "found: n.x"),
    "field of no struct": ([MinMax("a.b")], IndexDefinitionError, "found: a.b"),
    "partition column": ([MinMax("P")], IndexDefinitionError, "partition"),
    "twice": ([MinMax("a"), MinMax("A")], IndexDefinitionError, "twice"),
    "twice, other parameters": ([ValueList("a"), ValueList("a", max_values=9)], IndexDefinitionError, "twice"),
    "struct": ([MinMax("n")], UnsupportedTypeError, "struct<b:double>.*expected: one of"),
    "array": ([Prefix("l")], UnsupportedTypeError, "array<int>.*expected: one of string"),
    "map": ([MinMax("m")], UnsupportedTypeError, "map<string,int>"),
    "bloom of double": ([BloomFilter("n.b")], UnsupportedTypeError, "double.*expected: one of string"),
    "one of several": ([MinMax("a"), BloomFilter("n.b")], UnsupportedTypeError, "BloomFilter"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_create_refuses_invalid_indexes(spark: SparkSession, tmp_path: Path, name: str) -> None:
    if name == "struct" and not SPARK_4:
        pytest.skip("Spark 3.5 has another reason to refuse whole structs of Parquet")
    indexes, error, message = REFUSED[name]
    path = tmp_path / "data"
    exprs = ["1 AS a", "'x' AS s", "named_struct('b', 1D) AS n", "array(1) AS l", "map('k', 1) AS m", "5 AS p"]
    spark.range(1).selectExpr(*exprs).write.partitionBy("p").parquet(str(path))
    made = SkippingIndex.for_path(spark, str(path))
    with pytest.raises(error, match=message):
        made.create(indexes)
    assert not made.exists()
    assert not (path / "_xskip").exists()


@pytest.mark.parametrize(
    "build",
    [
        lambda: MinMax(""),
        lambda: MinMax("`a"),
        lambda: ValueList("a..b"),
        lambda: ValueList("a", max_values=0),
        lambda: BloomFilter("a", fpp=0),
        lambda: BloomFilter("a", fpp=1.0),
        lambda: BloomFilter("a", ndv=0),
    ],
)
def test_invalid_definitions_are_refused(build: Callable[[], object]) -> None:
    with pytest.raises(IndexDefinitionError):
        build()


def test_only_datasets_of_files_can_be_indexed(spark: SparkSession, path: str, fmt: str, tmp_path: Path) -> None:
    spark.range(3).createOrReplaceTempView("numbers")
    spark.read.format(fmt).load(path).filter("a > 1").createOrReplaceTempView("narrowed")
    spark.read.format(fmt).load(path).createOrReplaceTempView("whole")
    for name in ("numbers", "narrowed"):
        with pytest.raises(DatasetError, match="a view has no files of its own"):
            SkippingIndex.for_table(spark, name).create([MinMax("a")])
    for missing in (SkippingIndex.for_path(spark, f"{tmp_path}/none"), SkippingIndex.for_table(spark, "none")):
        with pytest.raises(DatasetError, match="cannot read the dataset"):
            missing.create([MinMax("a")])
    with pytest.raises(DatasetError):
        SkippingIndex.for_path(spark, path, format="nonsense").exists()


def test_results_are_frozen_and_have_a_text_form(spark: SparkSession, path: str, fmt: str) -> None:
    made = SkippingIndex.for_path(spark, path, format=fmt)
    assert path in repr(made)
    refreshed = made.create([MinMax("a"), ValueList("s", max_values=7)])
    results: list[Any] = [
        refreshed,
        made.describe(),
        made.status(),
        made.files("a < 2"),
        xskip.list_indexes(spark),
        made.drop(),
    ]
    for result in results:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, dataclasses.fields(result)[0].name, None)
        assert type(result).__name__ in repr(result) or repr(result) == str(result)
        html = result._repr_html_()
        assert html.startswith('<div class="xskip-result')
        assert html.count("<tr>") == html.count("</tr>") > 1
    _, described, status, kept, listed, dropped = map(str, results)
    assert "files added  3" in str(refreshed)
    assert "maxvalues=7" in described
    assert "s string" in described
    assert "up to date" in status
    assert "yes" in status
    assert kept.splitlines()[0].startswith("2 of 3 files")
    assert path in listed
    assert "dropped" in dropped


def test_results_convert_to_arrow_and_pandas(spark: SparkSession, path: str, fmt: str) -> None:
    made = index(spark, path, [MinMax("a"), ValueList("s", max_values=7)], fmt)
    described = made.describe()
    assert described.to_arrow().column("index").to_pylist() == ["minmax", "valuelist"]
    assert described.to_arrow().column("types").to_pylist() == ["int", "string"]
    assert list(described.to_pandas()["columns"]) == ["a", "s"]
    kept = made.files("a < 2")
    assert kept.listing().num_rows == len(kept) == len(list(kept)) == 2
    assert list(kept) == kept.names == kept.paths == kept.listing().column("name").to_pylist()
    assert kept.listing().column("size").to_pylist() == [Path(n).stat().st_size for n in kept]
    modified = kept.listing().column("modified").cast("int64").to_pylist()
    assert modified == [Path(n).stat().st_mtime_ns // 1_000_000 for n in kept.names]
    assert "2 of 3 files" in repr(kept)
    listed = xskip.list_indexes(spark).to_pandas()
    assert path in set(listed["dataset"])
