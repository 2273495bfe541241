"""Symbolic links: an index is found by every path to its dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.helpers import kept, matching_files, metadata, opened_files, write_once
from xskip import BloomFilter, MinMax, SkippingIndex
from xskip.spark.query.spark_engine import engine_of

FILES = {f"p={p}/f{p}{i}": [(100 * p + 10 * i, f"s{p}{i}")] for p in (1, 2) for i in range(3)}
SCHEMA = "v int, s string"


class Tree:
    """A dataset, and links: to the dataset, to a folder above it, and to the first of these links."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.target = root / "real" / "lake"
        write_once(spark, self.target, SCHEMA, FILES)
        (root / "link").symlink_to(self.target)
        (root / "above").symlink_to(root / "real", target_is_directory=True)
        (root / "chain").symlink_to("link")
        self.paths = {"target": self.target, "link": root / "link", "above": root / "above/lake"}
        self.paths["chain"] = root / "chain"


@pytest.fixture
def tree(spark: SparkSession, tmp_path: Path) -> Tree:
    return Tree(spark, tmp_path)


def explained(df: DataFrame) -> list[tuple[int, int, int, str]]:
    scans = xskip.explain(df).scans
    return [(scan.kept, scan.files, scan.not_indexed, scan.problem) for scan in scans]


@pytest.mark.parametrize("base", ["inside", "below a location"])
@pytest.mark.parametrize("by", ["target", "link", "above", "chain"])
def test_an_index_is_found_by_every_path(spark: SparkSession, tree: Tree, tmp_path: Path, by: str, base: str) -> None:
    """[MDS-L-9] Queries, files() and reports by each path use it, and operations by each path change it."""
    if base != "inside":
        spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/metadata")
    assert SkippingIndex.for_path(spark, tree.paths[by]).create([MinMax("v"), BloomFilter("s")]).added == 6
    predicate = "v >= 210 AND v < 300"
    for number, path in enumerate(tree.paths.values()):
        df = spark.read.parquet(str(path)).filter(predicate)
        assert opened_files(df) == {"f21", "f22"}
        assert kept(spark, f"{path}/p=2", "s = 's21'") == {"f21"}
        assert explained(df) == [(2, 6 + number, 0, "")]
        assert sorted(map(tuple, df.collect())) == [(210, "s21", 2), (220, "s22", 2)]
        made = SkippingIndex.for_path(spark, path)
        assert (made.status().up_to_date, made.status().indexed) == (True, 6 + number)
        assert made.describe().dataset == str(tree.target)
        files = made.files(predicate)
        assert files.names == [f"{path}/p=2/f21.parquet", f"{path}/p=2/f22.parquet"]
        assert sorted(files.to_pyarrow().to_table().column("p").to_pylist()) == [2, 2]
        assert made.refresh().added == 0
        write_once(spark, tree.target, SCHEMA, {f"p=3/n{number}": [(1000 + number, "new")]})
        assert kept(spark, str(path), "v < 0") == {f"n{number}"}
        assert made.refresh().added == 1
        if base == "inside":
            assert made.validate().wrong == ()
    assert kept(spark, str(tree.paths["link"]), "v = 1001") == {"n1"}
    folders = [p for p in tmp_path.rglob("_commits") if not p.is_symlink()]
    assert len({p.resolve() for p in folders}) == 1, "there is another index"
    SkippingIndex.for_path(spark, tree.paths["chain"]).drop()
    assert not SkippingIndex.for_path(spark, tree.target).exists()


def test_names_in_the_metadata_are_those_without_links(spark: SparkSession, tree: Tree) -> None:
    made = SkippingIndex.for_path(spark, tree.paths["link"])
    made.create([MinMax("v")])
    names = metadata(made).files.names.to_pylist()
    assert sorted(names) == [f"{tree.target}/{name}.parquet" for name in sorted(FILES)]


def test_an_index_under_the_path_with_the_link(
    spark: SparkSession, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-L-9] An index that has the link's path serves that path, and refreshes keep its names."""
    link, engine = tree.paths["link"], engine_of(spark)
    directory = engine.hook.locations.of_path(spark, str(link))[1]
    assert (directory.root, directory.listed) == (str(link), "")
    engine.hook.locations.choose(str(link), directory.directory)  # as former releases placed it
    made = SkippingIndex.for_path(spark, link)
    made.create([MinMax("v")])
    engine.hook.locations.choose(str(link), None)
    assert kept(spark, str(link), "v >= 210") == {"f21", "f22"}
    assert explained(spark.read.parquet(str(link)).filter("v >= 210")) == [(2, 6, 0, "")]
    write_once(spark, tree.target, SCHEMA, {"p=3/n": [(1000, "new")]})
    assert made.refresh().added == 1
    assert {name.split("/p=")[0] for name in metadata(made).files.names.to_pylist()} == {str(link)}
    assert kept(spark, str(link), "v >= 210") == {"f21", "f22", "n"}


def test_a_link_that_leads_elsewhere_later(spark: SparkSession, tree: Tree, tmp_path: Path) -> None:
    """The index of the new target serves the link, that of the former one does not, and every row is found."""
    other = tmp_path / "other"
    write_once(spark, other, SCHEMA, {f"p={p}/f{p}{i}": [(900 - 10 * i, "x")] for p in (1, 2) for i in range(3)})
    link = tree.paths["link"]
    SkippingIndex.for_path(spark, link).create([MinMax("v")])
    before = spark.read.parquet(str(link)).filter("v >= 210 AND v < 300")
    assert opened_files(before) == {"f21", "f22"}
    link.unlink()
    link.symlink_to(other)
    df = spark.read.parquet(str(link))
    everything = {f"f{p}{i}" for p in (1, 2) for i in range(3)}
    assert opened_files(df.filter("v = 890")) == everything
    assert matching_files(df, "v = 890") == {"f11", "f21"}
    SkippingIndex.for_path(spark, link).create([MinMax("v")])
    assert opened_files(spark.read.parquet(str(link)).filter("v = 890")) == {"f11", "f21"}
    assert kept(spark, str(tree.target), "v >= 210") == {"f21", "f22"}


def test_links_inside_of_a_dataset(spark: SparkSession, tree: Tree, tmp_path: Path) -> None:
    """A partition that is a link belongs to the dataset under the name by which Spark lists it."""
    write_once(spark, tmp_path / "apart", SCHEMA, {"g0": [(500, "g")], "g1": [(510, "g")]})
    (tree.target / "p=5").symlink_to(tmp_path / "apart")
    made = SkippingIndex.for_path(spark, tree.paths["link"])
    assert made.create([MinMax("v")]).added == 8
    for path in tree.paths.values():
        assert kept(spark, str(path), "v = 510") == {"g1"}
        assert kept(spark, f"{path}/p=5", "v = 510") == {"g1"}
    assert kept(spark, str(tmp_path / "apart"), "v = 510") == {"g0", "g1"}


@pytest.mark.parametrize("by", ["target", "link"])
def test_reads_that_trust_the_listing(spark: SparkSession, tree: Tree, by: str) -> None:
    """Files have the paths by which the reader names the dataset, as Spark lists them."""
    SkippingIndex.for_path(spark, tree.paths[by]).create([MinMax("v")])
    for path in tree.paths.values():
        df = SkippingIndex.for_path(spark, path).read(trust_listing=True)
        plain = spark.read.parquet(str(path))
        columns = ["v", "s", "p", "_metadata.file_path"]
        assert sorted(df.select(columns).collect()) == sorted(plain.select(columns).collect())
        assert opened_files(df.filter("v = 110")) == {"f11"}
        write_once(spark, tree.target, SCHEMA, {"p=2/f29": [(290, "new")]})
        assert SkippingIndex.for_path(spark, path).refresh(trust_listing=True).added == 1
        assert kept(spark, str(path), "v > 280") == {"f29"}
        (tree.target / "p=2/f29.parquet").unlink()
        assert SkippingIndex.for_path(spark, path).refresh().removed == 1


def test_a_table_at_a_link(spark: SparkSession, tree: Tree) -> None:
    spark.sql(f"CREATE TABLE linked ({SCHEMA}, p int) USING parquet PARTITIONED BY (p) LOCATION '{tree.paths['link']}'")
    spark.sql("ALTER TABLE linked RECOVER PARTITIONS")
    assert SkippingIndex.for_table(spark, "linked").create([MinMax("v")]).added == 6
    for path in tree.paths.values():
        assert kept(spark, str(path), "v = 110") == {"f11"}
    assert opened_files(spark.table("linked").filter("v = 110")) == {"f11"}
    assert opened_files(spark.table("linked").filter("p = 2 AND v = 210")) == {"f21"}
    assert SkippingIndex.for_path(spark, tree.target).refresh().added == 0


@pytest.mark.parametrize("by", ["target", "link"])
def test_an_index_opened_without_spark(spark: SparkSession, tree: Tree, by: str) -> None:
    SkippingIndex.for_path(spark, tree.paths[by]).create([MinMax("v")])
    for path in tree.paths.values():
        found = xskip.open_index(path).files("v >= 210")
        assert [Path(name).stem for name in found.names] == ["f21", "f22"]
        assert found.total == 6
