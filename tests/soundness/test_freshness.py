"""Changed data, new indexes and disabled skipping give correct rows.

Classes: SND-34 (identity of files), SND-35 (stale indexes), SND-36 (indexes of other datasets), SND-37 (disabling).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import kept, write_files
from tests.soundness.checking import Family, family
from xskip import BloomFilter, Index, MinMax, SkippingIndex, ValueList

FILES = {"low": [(1,), (2,)], "high": [(10,), (20,)]}
INDEXES = [MinMax("x"), ValueList("x"), BloomFilter("x", fpp=1e-6)]
by_kind = pytest.mark.parametrize("index", INDEXES, ids=lambda i: i.name)


def _family(spark: SparkSession, root: Path, index: Index) -> Family:
    return family(spark, root, "x int", FILES, {"copy": [index]})


def _rewrite(spark: SparkSession, made: Family, name: str, values: list[int]) -> Path:
    """Write other content under the same name in both copies, and return the path."""
    for copy in ("copy", "plain"):
        write_files(spark, made.root / copy, "x int", {name: [(v,) for v in values]})
    made._oracle.clear()
    return made.root / "copy" / f"{name}.parquet"


@by_kind
def test_overwritten_files(spark: SparkSession, tmp_path: Path, index: Index) -> None:
    """[SND-34] A file with new content is read until the index is refreshed."""
    made = _family(spark, tmp_path, index)
    made.check("copy", {"x = 10": "high", "x = 1": "low"})
    _rewrite(spark, made, "low", [10, 30])
    made.check("copy", {"x = 10": "low high", "x = 30": "low", "x = 1": "low"})
    result = made.skipping("copy").refresh()
    assert (result.added, result.removed, result.unchanged) == (1, 1, 1)
    made.check(
        "copy",
        {"x = 10": "low high", "x = 20": "high", "x = 1": ""}
        if index.name != "minmax"
        else {"x = 30": "low", "x = 1": ""},
    )


@by_kind
@pytest.mark.parametrize("same", ["time", "size"])
def test_same_time_or_same_size(spark: SparkSession, tmp_path: Path, index: Index, same: str) -> None:
    """[SND-34] A file is another one if its name, time or size differs."""
    made = _family(spark, tmp_path, index)
    path = made.root / "copy" / "low.parquet"
    before = path.stat()
    values = [10, 30] if same == "size" else list(range(10, 500))
    _rewrite(spark, made, "low", values)
    if same == "time":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_mtime_ns == before.st_mtime_ns
        assert path.stat().st_size != before.st_size
    else:
        assert path.stat().st_size == before.st_size
        assert path.stat().st_mtime_ns // 1_000_000 != before.st_mtime_ns // 1_000_000
    made.check("copy", {"x = 30": "low", "x = 10": "low high"})
    made.skipping("copy").refresh()
    made.check("copy", {"x = 1": "", "x = 30": "low"})


@by_kind
def test_appended_and_deleted_files(spark: SparkSession, tmp_path: Path, index: Index) -> None:
    """[SND-35] New files are read, deleted files have no effect, and refresh() updates both."""
    made = _family(spark, tmp_path, index)
    _rewrite(spark, made, "more", [1, 100])
    made.check("copy", {"x = 100": "more", "x = 20": "high more", "x = 2": "low more"})
    assert made.skipping("copy").refresh().added == 1
    made.check("copy", {"x = 100": "more", "x = -1": ""})
    for copy in ("copy", "plain"):
        (made.root / copy / "high.parquet").unlink()
    made._oracle.clear()
    made.check("copy", {"x = 100": "more", "x = -1": ""})
    assert made.skipping("copy").refresh().removed == 1
    _rewrite(spark, made, "high", [1])
    made.check("copy", {"x = -1": "high"})


@by_kind
def test_replaced_directory(spark: SparkSession, tmp_path: Path, index: Index) -> None:
    """[SND-35] If Spark overwrites the dataset, the index is removed or has no effect."""
    made = _family(spark, tmp_path, index)
    made.check("copy", {"x = 1": "low"})
    for copy in ("copy", "plain"):
        spark.createDataFrame([(1,), (77,)], "x int").coalesce(1).write.mode("overwrite").parquet(made.path(copy))
    rows = [tuple(row) for row in made.read("copy").filter("x = 77").collect()]
    assert rows == [(77,)]
    assert made.read("copy").filter("x = 10").count() == 0
    assert made.read("copy").count() == 2


@by_kind
def test_metadata_that_is_lost_or_broken(spark: SparkSession, tmp_path: Path, index: Index) -> None:
    """[SND-35] An index with missing or invalid metadata files skips nothing and fails no query."""
    made = _family(spark, tmp_path, index)
    made.check("copy", {"x = 1": "low"})
    files = [f for f in (made.root / "copy" / "_xskip").rglob("*.parquet") if f.is_file()]
    assert files
    spark.conf.set("spark.xskip.strict", "false")
    for file in files:
        file.write_bytes(b"PAR1 nothing PAR1")
    assert [tuple(r) for r in made.read("copy").filter("x = 1").collect()] == [(1,)]
    for file in files:
        file.unlink()
    assert [tuple(r) for r in made.read("copy").filter("x = 10").collect()] == [(10,)]
    shutil.rmtree(made.root / "copy" / "_xskip")
    assert kept(spark, made.path("copy"), "x = 1") == {"low", "high"}


@by_kind
def test_dropped_and_made_again(spark: SparkSession, tmp_path: Path, index: Index) -> None:
    """[SND-36] Nothing of a dropped index stays in memory."""
    made = _family(spark, tmp_path, index)
    made.check("copy", {"x = 1": "low"})
    made.skipping("copy").drop()
    made.check("copy", {"x = 1": "low high"})
    _rewrite(spark, made, "low", [10, 20])
    _rewrite(spark, made, "high", [1, 2])
    made.check("copy", {"x = 1": "low high"})
    made.skipping("copy").create([index])
    made.check("copy", {"x = 1": "high", "x = 10": "low"})
    made.skipping("copy").drop()
    made.skipping("copy").create([ValueList("x", max_values=1)])
    made.check("copy", {"x = 1": "low high"})


@by_kind
def test_directory_removed_behind_its_back(spark: SparkSession, tmp_path: Path, index: Index) -> None:
    """[SND-36] A dataset that was replaced together with its index is read completely."""
    made = _family(spark, tmp_path, index)
    made.check("copy", {"x = 1": "low"})
    shutil.rmtree(made.root / "copy")
    shutil.rmtree(made.root / "plain")
    write_files(spark, made.root / "plain", "x int", {"low": [(10,)], "high": [(1,)]})
    shutil.copytree(made.root / "plain", made.root / "copy")
    made._oracle.clear()
    made.check("copy", {"x = 1": "low high", "x = 10": "low high"})


def test_an_index_moved_to_another_dataset(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-36] A copied index does not serve another dataset with the same file names."""
    for name, values in (("a", (1, 2)), ("b", (2, 1))):
        write_files(spark, tmp_path / name, "x int", {f"f{i}": [(v,)] for i, v in enumerate(values)})
    SkippingIndex.for_path(spark, str(tmp_path / "a")).create([MinMax("x")])
    assert kept(spark, str(tmp_path / "a"), "x = 1") == {"f0"}
    assert kept(spark, str(tmp_path / "b"), "x = 1") == {"f0", "f1"}
    shutil.copytree(tmp_path / "a" / "_xskip", tmp_path / "b" / "_xskip")
    (made,) = (tmp_path / "b" / "_xskip").iterdir()
    SkippingIndex.for_path(spark, str(tmp_path / "b")).exists()
    other = tmp_path / "b" / "_xskip" / made.name
    assert other.is_dir()
    assert spark.read.parquet(str(tmp_path / "b")).filter("x = 1").count() == 1
    both = spark.read.parquet(str(tmp_path / "a"), str(tmp_path / "b")).filter("x = 1")
    assert both.count() == 2


def test_a_base_location_for_all(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-36] Each dataset uses its own index below a common base, and no index without the base."""
    for name, values in (("a", (1, 2)), ("b", (2, 1))):
        write_files(spark, tmp_path / name, "x int", {f"f{i}": [(v,)] for i, v in enumerate(values)})
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "base"))
    for name in ("a", "b"):
        SkippingIndex.for_path(spark, str(tmp_path / name)).create([MinMax("x")])
    assert kept(spark, str(tmp_path / "a"), "x = 1") == {"f0"}
    assert kept(spark, str(tmp_path / "b"), "x = 1") == {"f1"}
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "elsewhere"))
    assert kept(spark, str(tmp_path / "b"), "x = 1") == {"f0", "f1"}


@by_kind
def test_disabling_disables(spark: SparkSession, tmp_path: Path, index: Index) -> None:
    """[SND-37] After disabling by the function or by the setting, no file is skipped until skipping is enabled."""
    made = _family(spark, tmp_path, index)
    made.check("copy", {"x = 1": "low"})
    xskip.disable(spark)
    assert not xskip.is_enabled(spark)
    made.check("copy", {"x = 1": "low high"})
    xskip.enable(spark)
    made.check("copy", {"x = 1": "low"})
    spark.conf.set("spark.xskip.enabled", "false")
    assert not xskip.is_enabled(spark)
    made.check("copy", {"x = 1": "low high"})
    assert list(made.root.glob("copy/_xskip")), "the index itself stays"
    spark.conf.set("spark.xskip.enabled", "true")
    assert xskip.is_enabled(spark)
    made.check("copy", {"x = 1": "low"})


def test_other_sessions_are_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """[SND-37] Skipping is switched on and off for each session separately."""
    made = _family(spark, tmp_path, MinMax("x"))
    other = spark.newSession()
    other.conf.set("spark.xskip.strict", "true")
    assert kept(other, made.path("copy"), "x = 1") == {"low", "high"}
    xskip.enable(other)
    assert kept(other, made.path("copy"), "x = 1") == {"low"}
    xskip.disable(spark)
    assert kept(other, made.path("copy"), "x = 1") == {"low"}
    assert kept(spark, made.path("copy"), "x = 1") == {"low", "high"}
