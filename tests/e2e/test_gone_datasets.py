"""Datasets that were moved, renamed or removed leave nothing behind: no definition, no former index [MDS-DC]."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.cli.calls import call
from tests.helpers import index, kept, write_files
from xskip import MinMax, SkippingIndex
from xskip.cli.main import main
from xskip.cli.parser import make_parser
from xskip.cli.spark_fallback import NeedsSpark, drop_gone
from xskip.errors import DatasetError, MetadataNotFoundError
from xskip.metadatastore.filesystem import LocalStorage


def dataset(spark: SparkSession, path: Path) -> str:
    return write_files(spark, path, "a int", {f"f{i}": [(i,)] for i in range(3)})


def roots_of_copies(lake: Path) -> list[str]:
    """Return the roots of the definitions that are kept beside the datasets of a directory."""
    copies = (lake / ".xskip_definitions").glob("*/*.json")
    return sorted(text.split('"root": "', 1)[1].split('"', 1)[0] for text in (copy.read_text() for copy in copies))


def test_an_adoption_forgets_the_definition_of_a_root_that_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-6] The definition of the new place is kept, and so are those of other datasets."""
    former = dataset(spark, tmp_path / "former")
    other = dataset(spark, tmp_path / "other")
    index(spark, former, [MinMax("a")])
    index(spark, other, [MinMax("a")])
    assert roots_of_copies(tmp_path) == [former, other]
    moved = shutil.move(former, f"{tmp_path}/moved")
    now = SkippingIndex.for_path(spark, moved)
    assert now.adopt().adopted == 3
    assert roots_of_copies(tmp_path) == [moved, other]
    spark.range(9).selectExpr("cast(id AS int) AS a").write.mode("overwrite").parquet(moved)
    assert now.refresh().rebuilt


def test_definitions_that_were_moved_with_their_directory_are_not_shown(spark: SparkSession, tmp_path: Path) -> None:
    """[STA-OV-5] They are of paths elsewhere, and count for none of the moved datasets."""
    index(spark, dataset(spark, tmp_path / "lake" / "d"), [MinMax("a")])
    moved = (tmp_path / "lake").rename(tmp_path / "moved")
    assert [(each.dataset, each.fault) for each in xskip.overview(moved)] == [(f"{moved}/d", "index of another path")]
    SkippingIndex.for_path(spark, f"{moved}/d").adopt()
    assert roots_of_copies(moved) == sorted([f"{tmp_path}/lake/d", f"{moved}/d"])
    assert [(each.dataset, each.is_fresh) for each in xskip.overview(moved)] == [(f"{moved}/d", True)]


def test_an_adoption_keeps_the_definition_of_a_root_that_exists(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-6] The original of a copied dataset can be overwritten later, also if it has no index now."""
    former = dataset(spark, tmp_path / "former")
    made = index(spark, former, [MinMax("a")])
    twin = shutil.copytree(former, f"{tmp_path}/twin")
    spark.range(9).selectExpr("cast(id AS int) AS a").write.mode("overwrite").parquet(former)
    assert SkippingIndex.for_path(spark, twin).adopt().adopted == 3
    assert roots_of_copies(tmp_path) == [former, twin]
    assert made.refresh().rebuilt


def test_a_store_that_refuses_to_remove_the_definition(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """[MDS-DC-5] [MDS-DC-6] The adoption succeeds."""
    former = dataset(spark, tmp_path / "former")
    index(spark, former, [MinMax("a")])
    moved = shutil.move(former, f"{tmp_path}/moved")
    monkeypatch.setattr(LocalStorage, "remove_tree", lambda *_: None)
    assert SkippingIndex.for_path(spark, moved).adopt().adopted == 3
    assert f"xskip cannot remove the definition of the former index of {former}" in caplog.text
    assert kept(spark, moved, "a = 2") == {"f2"}


def test_a_drop_forgets_a_path_that_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-7] Once, and the definitions of other datasets stay."""
    path = dataset(spark, tmp_path / "retired")
    other = dataset(spark, tmp_path / "other")
    made = index(spark, path, [MinMax("a")])
    index(spark, other, [MinMax("a")])
    location = made.describe().location
    shutil.rmtree(path)
    result = SkippingIndex.for_path(spark, f"{path}/").drop()
    assert (result.location, result.metadata_files, result.only_definition) == (location, 0, True)
    assert "forgotten; there was no index" in str(result)
    assert roots_of_copies(tmp_path) == [other]
    with pytest.raises(DatasetError, match="PATH_NOT_FOUND"):
        made.drop()
    dataset(spark, tmp_path / "retired")
    assert not made.exists()


def test_a_drop_removes_the_index_of_a_path_that_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-7] At the base location or a chosen place, for the same root only, and with a link above the path."""
    lake, base = tmp_path / "lake", tmp_path / "md"
    spark.conf.set("spark.xskip.metadata.location", str(base))
    for name in ("retired", "linked", "other"):
        index(spark, dataset(spark, lake / name), [MinMax("a")])
    os.symlink(lake, tmp_path / "link")
    shutil.rmtree(lake / "retired")
    shutil.rmtree(lake / "linked")
    result = SkippingIndex.for_path(spark, str(lake / "retired")).drop()
    assert (result.metadata_files, result.only_definition) == (1, False)
    assert SkippingIndex.for_path(spark, str(tmp_path / "link" / "linked")).drop().metadata_files == 1
    assert [each.dataset for each in xskip.overview(base)] == [str(lake / "other")]
    with pytest.raises(DatasetError, match="PATH_NOT_FOUND"):
        SkippingIndex.for_path(spark, str(lake / "retired")).drop()
    (place,) = base.glob("*")
    with pytest.raises(DatasetError, match="PATH_NOT_FOUND"):
        SkippingIndex.for_path(spark, str(lake / "retired")).at(str(place)).drop()
    assert kept(spark, str(lake / "other"), "a = 2") == {"f2"}
    shutil.rmtree(lake / "other")
    assert SkippingIndex.for_path(spark, str(lake / "other")).at(str(place)).drop().metadata_files == 1
    assert not place.exists()


def test_a_drop_by_a_link_forgets_a_path_that_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-7] The definition names the dataset without the link in the path above it."""
    path = dataset(spark, tmp_path / "lake" / "retired")
    os.symlink(tmp_path / "lake", tmp_path / "link")
    index(spark, f"{tmp_path}/link/retired", [MinMax("a")])
    assert roots_of_copies(tmp_path / "lake") == [path]
    shutil.rmtree(path)
    assert SkippingIndex.for_path(spark, f"{tmp_path}/link/retired").drop().only_definition
    assert roots_of_copies(tmp_path / "lake") == []


def test_a_drop_of_a_dataset_that_cannot_be_read_keeps_its_definition(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-7] A directory that exists is not gone, and a chosen place has no definition."""
    path = dataset(spark, tmp_path / "d")
    made = index(spark, path, [MinMax("a")])
    for file in Path(path).glob("*.parquet"):
        file.unlink()
    with pytest.raises(DatasetError):
        made.drop()
    shutil.rmtree(path)
    with pytest.raises(DatasetError, match="PATH_NOT_FOUND"):
        made.at(str(tmp_path / "md")).drop()
    assert roots_of_copies(tmp_path) == [path]


def test_the_command_drop_forgets_a_path_that_is_gone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """[MDS-DC-7]"""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    path, other = dataset(spark, tmp_path / "retired"), dataset(spark, tmp_path / "other")
    index(spark, path, [MinMax("a")])
    index(spark, other, [MinMax("a")])
    shutil.rmtree(path)
    with monkeypatch.context() as without:
        without.setattr(SparkSession.Builder, "getOrCreate", None)
        assert "definition      forgotten; there was no index" in call(capsys, "drop", path)
        assert roots_of_copies(tmp_path) == [other]
        assert main(["drop", path]) == 2
        assert capsys.readouterr().err == (
            f"xskip: the path does not exist, and has no index (where: {path}); check the path\n"
        )
    for name, reason in (
        (other, "the dataset exists"),
        (f"{tmp_path}/o*", "only Spark knows whether the dataset exists"),
    ):
        with pytest.raises(NeedsSpark, match=reason):
            drop_gone(make_parser().parse_args(["drop", name]))
    call(capsys, "drop", other)
    assert (roots_of_copies(tmp_path), list(Path(other).glob("_xskip/*"))) == ([], [])


def test_a_drop_removes_the_former_index_of_an_adopted_dataset(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-32] The list of the directory is empty then."""
    former = dataset(spark, tmp_path / "former")
    left = index(spark, former, [MinMax("a")]).describe().location
    moved = shutil.move(former, f"{tmp_path}/moved")
    now = SkippingIndex.for_path(spark, moved)
    now.adopt()
    result = now.drop()
    assert result.former == (left.replace(former, moved),)
    assert "former index    " in str(result)
    assert list((tmp_path / "moved" / "_xskip").iterdir()) == []
    assert len(xskip.overview(tmp_path)) == 0
    assert len(list(Path(moved).glob("*.parquet"))) == 3


def test_a_drop_keeps_what_may_be_an_index_of_another_dataset(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-32] Of a root that still has it, of one that committed later, and of one that was not adopted."""
    original = dataset(spark, tmp_path / "original")
    index(spark, original, [MinMax("a")])
    twin = shutil.copytree(original, f"{tmp_path}/twin")
    made = SkippingIndex.for_path(spark, twin)
    made.adopt()
    assert made.drop().former == ()
    assert len(list(Path(twin).glob("_xskip/*"))) == 1
    with pytest.raises(MetadataNotFoundError):
        made.drop()
    assert len(list(Path(twin).glob("_xskip/*"))) == 1
    assert SkippingIndex.for_path(spark, original).status().up_to_date
    assert kept(spark, original, "a = 2") == {"f2"}
    made.adopt()
    # another root commits to its index in the folder after the adoption, as by another mount of the same directory
    write_files(spark, Path(original), "a int", {"f9": [(9,)]})
    SkippingIndex.for_path(spark, original).refresh()
    (inside,) = Path(original).glob("_xskip/*")
    shutil.copytree(inside, f"{twin}/_xskip/{inside.name}", dirs_exist_ok=True)
    shutil.rmtree(original)
    assert made.drop().former == ()
    assert [each.name for each in Path(twin).glob("_xskip/*")] == [inside.name]
