"""An overwrite deletes a dataset with its index, and a copy of the definition outlives it. Rules: [MDS-DC]."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.indexing.definition_copies
from tests.helpers import index, kept, write_files, write_once
from xskip import BloomFilter, LocalKms, MinMax, NullCount, SkippingIndex, ValueList
from xskip.cli.main import main
from xskip.errors import IndexDefinitionError, MetadataNotFoundError, StorageError
from xskip.indexes import registry
from xskip.metadatastore.definition_copy import keep_copy
from xskip.metadatastore.filesystem import LocalStorage
from xskip.spark.query.spark_engine import engine_of

OVERWRITTEN = (
    r"the dataset was overwritten since its indexes were defined \(20\d\d-.* UTC\), or its index was deleted .*; "
    r"call refresh\(\), which builds the"
)
GONE = r"the index is gone: this process has built or used it, .*an overwrite of the dataset deletes: mode"


def rewrite(spark: SparkSession, path: str) -> None:
    spark.range(9).selectExpr("cast(id AS int) AS a").write.mode("overwrite").parquet(path)


def insert(spark: SparkSession, path: str) -> None:
    spark.sql(f"CREATE TABLE overwritten (a int) USING parquet LOCATION '{path}'")
    try:
        spark.range(9).selectExpr("cast(id AS int) AS a").createOrReplaceTempView("fresh")
        spark.sql("INSERT OVERWRITE overwritten SELECT a FROM fresh")
    finally:
        spark.sql("DROP TABLE overwritten")


def load_again(spark: SparkSession, path: str) -> None:
    shutil.rmtree(path)
    write_once(spark, Path(path), "a int", {"new": [(n,) for n in range(9)]})


def copies(root: Path) -> list[Path]:
    return list((root / ".xskip_definitions").glob("*/*"))


def dataset(spark: SparkSession, tmp_path: Path) -> str:
    return write_files(spark, tmp_path / "d", "a int", {f"f{i}": [(i,)] for i in range(3)})


@pytest.mark.parametrize("overwrite", [rewrite, insert, load_again])
@pytest.mark.parametrize("other_process", [False, True])
def test_a_refresh_builds_the_index_again(
    spark: SparkSession, tmp_path: Path, overwrite: Callable[[SparkSession, str], None], other_process: bool
) -> None:
    """[MDS-DC-1] [MDS-DC-3] With the same indexes, parameters and version."""
    path = dataset(spark, tmp_path)
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("a"), ValueList("a", max_values=20), NullCount("a + 1", expression=True)], version=3)
    before = made.describe()
    overwrite(spark, path)
    if other_process:
        engine_of(spark).indexes.forget_dropped(before.location)
    assert (made.exists(), (tmp_path / "d" / "_xskip").exists()) == (False, False)
    for call in (made.describe, made.history, made.advise, lambda: made.files("a > 1")):
        with pytest.raises(MetadataNotFoundError, match=OVERWRITTEN):
            call()
    status = made.status()
    assert (status.indexed, status.up_to_date, status.version) == (0, False, "CURRENT")
    assert "call refresh()" in str(status)
    assert status.problem.startswith("the dataset was overwritten since its indexes were defined (20")
    assert spark.read.parquet(path).filter("a > 7").count() == 1
    (scan,) = xskip.last_report(spark).scans
    assert scan.problem.startswith(
        "the dataset has no index any more: it was overwritten since its indexes were defined (20"
    )
    assert scan.problem.endswith(" UTC), or its index was deleted; call refresh(), which builds it again")
    result = made.refresh()
    assert (result.rebuilt, result.added) == (True, status.missing)
    after = made.describe()
    assert [(i.name, i.columns, i.params, i.types) for i in after.indexes] == [
        (i.name, i.columns, i.params, i.types) for i in before.indexes
    ]
    assert (after.version, made.status().up_to_date, made.refresh().rebuilt) == (3, True, False)


@pytest.mark.parametrize("overwrite", [rewrite, load_again])
def test_a_query_right_after_an_overwrite_says_so(
    spark: SparkSession, tmp_path: Path, overwrite: Callable[[SparkSession, str], None]
) -> None:
    """[MDS-DC-3] Also in a process whose queries have just used the index, and in strict mode."""
    path = dataset(spark, tmp_path)
    SkippingIndex.for_path(spark, path).create([MinMax("a")])
    for _ in range(2):
        spark.read.parquet(path).filter("a > 7").collect()
        (scan,) = xskip.last_report(spark).scans
        assert (scan.problem, scan.not_indexed) == ("", 0)
    overwrite(spark, path)
    for _ in range(2):
        assert spark.read.parquet(path).filter("a > 7").count() == 1
        (scan,) = xskip.last_report(spark).scans
        assert "was overwritten since its indexes were defined (20" in scan.problem
        assert "call refresh()" in scan.problem
        assert scan.skipped == 0


def test_an_index_is_ensured_after_an_overwrite(spark: SparkSession, tmp_path: Path) -> None:
    path = dataset(spark, tmp_path)
    made = SkippingIndex.for_path(spark, path)
    made.ensure([MinMax("a")])
    rewrite(spark, path)
    planned = made.ensure([MinMax("a"), NullCount("a")], dry_run=True)
    assert "would build again" in str(planned)
    assert (planned.rebuilt, planned.created, made.exists()) == (True, True, False)
    result = made.ensure([MinMax("a"), NullCount("a")])
    assert (result.rebuilt, result.created) == (True, True)
    assert "built again      after an overwrite of the dataset" in str(result)
    assert kept(spark, path, "a > 100") == set()
    load_again(spark, path)
    assert made.refresh().rebuilt
    assert [each.name for each in made.describe().indexes] == ["minmax", "nullcount"]
    made.drop()
    again = made.ensure([MinMax("a")])
    assert (again.rebuilt, again.created) == (False, True)
    assert "built again" not in str(again)


def test_the_copy_follows_the_definition(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-2] There is one copy, and no write if the definition is the same."""
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    (first,) = copies(tmp_path)
    write_once(spark, Path(path), "a int", {"more": [(7,)]})
    made.refresh()
    made.optimize()
    assert copies(tmp_path) == [first]
    seen = [first.name]
    for change in (
        lambda: made.add([ValueList("a")]), lambda: made.remove(["minmax(a)"]), lambda: made.migrate(2),
        lambda: made.ensure([BloomFilter("a", ndv=10)]),
    ):  # fmt: skip
        change()
        (copy,) = copies(tmp_path)
        assert copy.name > seen[-1]
        seen.append(copy.name)
    rewrite(spark, path)
    made.refresh()
    described = made.describe()
    (found,) = described.indexes
    assert (described.version, found.name) == (2, "bloomfilter")
    assert dict(found.params) == dict(BloomFilter("a", ndv=10).params)


def test_a_dropped_index_leaves_no_copy(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-2]"""
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    assert len(copies(tmp_path)) == 1
    made.drop()
    assert copies(tmp_path) == []
    with pytest.raises(MetadataNotFoundError, match="there is no index"):
        made.refresh()


def test_an_index_is_dropped_after_an_overwrite(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-2] The user wants no index any more."""
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    rewrite(spark, path)
    assert made.drop().metadata_files == 0
    assert copies(tmp_path) == []
    for call in (made.refresh, made.drop):
        with pytest.raises(MetadataNotFoundError, match="there is no index"):
            call()


def test_a_slower_writer_does_not_replace_a_later_copy(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-DC-2] Nor does its copy outlive a drop."""
    path = dataset(spark, tmp_path)
    made, other = (SkippingIndex.for_path(spark, path) for _ in range(2))
    made.create([MinMax("a")])
    waiting: list[Callable[[], object]] = [lambda: other.ensure([NullCount("a")])]

    def slow(*arguments: Any) -> bool:
        if waiting:
            waiting.pop()()
        return keep_copy(*arguments)

    monkeypatch.setattr(xskip.indexing.definition_copies, "keep_copy", slow)
    made.add([ValueList("a")])
    (copy,) = copies(tmp_path)
    assert "nullcount" in copy.read_text()
    assert "valuelist" not in copy.read_text()
    waiting.append(other.drop)
    made.ensure([MinMax("a")])
    assert copies(tmp_path) == []


def test_a_clock_that_is_behind(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-2]"""
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    (copy,) = copies(tmp_path)
    copy.rename(copy.with_name(f"{10**12 * 9:020d}.json"))
    made.add([ValueList("a")])
    (copy,) = copies(tmp_path)
    assert copy.name == f"{10**12 * 9 + 1:020d}.json"
    rewrite(spark, path)
    made.refresh()
    assert len(made.describe().indexes) == 2


def test_files_of_others_stay(spark: SparkSession, tmp_path: Path) -> None:
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    (copy,) = copies(tmp_path)
    (copy.parent / "0-notes.txt").write_text("of somebody else")
    made.add([ValueList("a")])
    assert [each.suffix for each in sorted(copy.parent.iterdir())] == [".txt", ".json"]


def test_an_index_type_that_is_not_registered_is_an_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-DC-3] The copy stays as it is."""
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a"), NullCount("a")])
    (copy,) = copies(tmp_path)
    rewrite(spark, path)
    with monkeypatch.context() as without:
        without.delitem(registry.BUILT_IN, "nullcount")
        without.delitem(registry._TYPES, "nullcount", raising=False)
        with pytest.raises(IndexDefinitionError, match=r"not registered .*found: nullcount\(a\)"):
            made.refresh()
    assert copies(tmp_path) == [copy]
    assert made.refresh().rebuilt


def test_a_dataset_that_is_read_in_another_way_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-3] As a refresh of an index does: a caller may have forgotten an option."""
    path = write_once(spark, tmp_path / "d", "a int", {"f": [(1,)]}, "csv")
    made = SkippingIndex.for_path(spark, path, format="csv", schema="a int", options={"nullValue": "x"})
    made.ensure([MinMax("a")])
    shutil.rmtree(path)
    write_once(spark, tmp_path / "d", "a int", {"f": [(1,)]}, "csv")
    with pytest.raises(IndexDefinitionError, match="read differently"):
        SkippingIndex.for_path(spark, path, format="csv", schema="a int").refresh()
    assert made.refresh().rebuilt


def test_a_dry_run_writes_no_copy(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-2]"""
    made = index(spark, dataset(spark, tmp_path), [MinMax("a")])
    shutil.rmtree(tmp_path / ".xskip_definitions")  # as with an index of an earlier release
    made.migrate(3, dry_run=True)
    made.ensure([ValueList("a")], dry_run=True)
    assert copies(tmp_path) == []


def test_a_store_that_refuses_to_list(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-DC-5] Credentials can be for the dataset alone."""
    real = LocalStorage.list

    def refusing(storage: LocalStorage, directory: str) -> Any:
        if ".xskip_definitions" in directory:
            raise StorageError("cannot list the directory", where=directory, found="permission denied")
        return real(storage, directory)

    monkeypatch.setattr(LocalStorage, "list", refusing)
    made = SkippingIndex.for_path(spark, dataset(spark, tmp_path))
    for call in (made.status, made.refresh, made.describe):
        with pytest.raises(MetadataNotFoundError, match="there is no index"):
            call()
    made.ensure([MinMax("a")])
    made.add([NullCount("a")])
    made.remove(["minmax(a)"])
    assert made.drop().metadata_files == 1
    assert not made.exists()


def test_without_copies(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-1] The setting turns them off."""
    spark.conf.set("spark.xskip.metadata.definitions", "false")
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    assert copies(tmp_path) == []
    rewrite(spark, path)
    for call in (made.status, made.describe, made.refresh):
        with pytest.raises(MetadataNotFoundError, match=GONE):
            call()
    assert spark.read.parquet(path).filter("a > 7").count() == 1
    (scan,) = xskip.last_report(spark).scans
    spark.conf.set("spark.xskip.metadata.definitions", "true")
    made.create([MinMax("a")])
    assert len(copies(tmp_path)) == 1
    spark.conf.set("spark.xskip.metadata.definitions", "false")
    made.add([NullCount("a")])
    assert copies(tmp_path) == []
    assert scan.problem == (
        "the dataset has no index any more: it was overwritten, or its index was deleted; call create() again"
    )


def test_names_of_encrypted_metadata_are_not_copied(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-4]"""
    xskip.use_kms(LocalKms({"k": b"0123456789abcdef", "f": b"fedcba9876543210"}))
    path = dataset(spark, tmp_path)
    made = SkippingIndex.for_path(spark, path)
    made.ensure([MinMax("a")])
    assert len(copies(tmp_path)) == 1
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    made.ensure([MinMax("a", key_label="k")])
    assert copies(tmp_path) == []
    made.drop()
    spark.conf.set("spark.xskip.encryption.plaintext.footer", "true")
    made.ensure([MinMax("a", key_label="k")])
    rewrite(spark, path)
    assert made.refresh().rebuilt
    files = list(Path(made.describe().location).glob("*.parquet"))
    assert {each.read_bytes()[:4] for each in files} == {b"PAR1"}
    assert made.add([NullCount("a")]).added == 0  # with the keys


def test_a_directory_that_cannot_be_written_to(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """[MDS-DC-5] The build succeeds, and a warning says what turns the attempts off."""
    real = LocalStorage.put_if_absent

    def refusing(storage: LocalStorage, path: str, data: bytes) -> bool:
        if ".xskip_definitions" in path:
            raise StorageError("cannot write a file", where=path, found="permission denied")
        return real(storage, path, data)

    monkeypatch.setattr(LocalStorage, "put_if_absent", refusing)
    with caplog.at_level(logging.WARNING, "xskip"):
        made = index(spark, dataset(spark, tmp_path), [MinMax("a")])
    assert made.status().up_to_date
    (line,) = [each.getMessage() for each in caplog.records if "outlive an overwrite" in each.getMessage()]
    assert "spark.xskip.metadata.definitions=false" in line
    assert "permission denied" in line


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"root": 3}', b"\xff", None])
def test_a_damaged_copy_is_none(spark: SparkSession, tmp_path: Path, content: bytes | None) -> None:
    """[MDS-DC-3]"""
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    (copy,) = copies(tmp_path)
    copy.write_bytes(copy.read_bytes().replace(b"minmax", b"minmin") if content is None else content)
    rewrite(spark, path)
    with pytest.raises(MetadataNotFoundError, match=GONE):
        made.refresh()


def test_the_copy_of_another_dataset_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-3] A directory that was renamed takes no definition along, and the other keeps its own."""
    path = dataset(spark, tmp_path)
    made = index(spark, path, [MinMax("a")])
    (tmp_path / "d").rename(tmp_path / "e")
    shutil.rmtree(tmp_path / "e" / "_xskip")
    with pytest.raises(MetadataNotFoundError, match="there is no index"):
        SkippingIndex.for_path(spark, str(tmp_path / "e")).refresh()
    write_once(spark, tmp_path / "d", "a int", {"new": [(1,)]})
    assert made.refresh().rebuilt


def test_copies_do_not_concern_a_dataset_around_them(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-1] Readers ignore the folder, and so does the list of indexes."""
    inner = write_once(spark, tmp_path / "day=1", "a int", {"f": [(1,)]})
    index(spark, inner, [MinMax("a")])
    assert len(copies(tmp_path)) == 1
    outer = index(spark, str(tmp_path), [MinMax("a")])
    assert outer.status().up_to_date
    assert spark.read.parquet(str(tmp_path)).count() == 1
    write_once(spark, tmp_path.parent / f"{tmp_path.name}-lake" / "d", "a int", {"f": [(1,)]})
    lake = tmp_path.parent / f"{tmp_path.name}-lake"
    index(spark, str(lake / "d"), [MinMax("a")])
    assert [each.dataset for each in xskip.list_indexes(spark, str(lake))] == [str(lake / "d")]


def test_the_command_refresh_knows_the_format(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """[MDS-DC-2]"""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    files: dict[str, list[tuple[Any, ...]]] = {"f": [(1,)]}
    path = write_once(spark, tmp_path / "d", "a int", files, "avro")
    SkippingIndex.for_path(spark, path, format="avro").create([MinMax("a")])
    shutil.rmtree(path)
    write_once(spark, tmp_path / "d", "a int", files, "avro")
    assert main(["refresh", path]) == 0
    assert "built again  after an overwrite of the dataset" in capsys.readouterr().out
    assert SkippingIndex.for_path(spark, path, format="avro").status().up_to_date


def test_an_index_outside_of_the_dataset_stays(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-DC-1] It needs no copy."""
    path = dataset(spark, tmp_path)
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/md")
    made = index(spark, path, [MinMax("a")])
    assert copies(tmp_path) == []
    rewrite(spark, path)
    status = made.status()
    assert (status.indexed, status.stale, status.changed, status.up_to_date) == (0, 3, 0, False)
    assert made.refresh().removed == 3
    assert made.status().up_to_date
