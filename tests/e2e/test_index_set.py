"""Indexes are added to an existing index, and removed from it, without building all of it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.indexing.builder
import xskip.metadatastore.maintenance.rewrite
from tests.e2e.datasets import interrupt, rows_of_new
from tests.falsified import falsify
from tests.helpers import by_days, given_away, index, kept, metadata, rows_of, write_once
from xskip import BloomFilter, Index, LocalKms, MinMax, NullCount, Prefix, SkippingIndex, ValueList
from xskip.errors import (
    ArgumentError,
    CollectError,
    IndexDefinitionError,
    IndexDroppedError,
    IndexExistsError,
    KeyNotAvailableError,
    MetadataNotFoundError,
)
from xskip.indexes import registry

SCHEMA = "x int, s string"
FILES: dict[str, list[tuple[Any, ...]]] = {"a": [(1, "ab"), (2, "cd")], "b": [(10, None)]}


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", SCHEMA, FILES)


def test_added_indexes_are_as_if_created(spark: SparkSession, path: str, collected: list[tuple[str, ...]]) -> None:
    """[MDS-C-24] Only the added indexes are collected, and the others keep their statistics."""
    made = index(spark, path, [MinMax("x")])
    falsify(spark, made, ("minmax", ("x",)), {"a": {"min": 0, "max": 5}})
    collected.clear()
    result = made.add([ValueList("s"), NullCount("s")])
    assert (result.added, result.removed, result.unchanged, result.failed) == (0, 0, 2, ())
    assert collected == [("valuelist(s)", "nullcount(s)")] * 2
    assert metadata(made).indexes["minmax", ("x",)].values.to_pylist().count({"min": 0, "max": 5}) == 1
    assert [str(i.name) for i in made.describe().indexes] == ["minmax", "valuelist", "nullcount"]
    assert (made.describe().commit, made.status().up_to_date) == (3, True)
    assert kept(spark, path, "s = 'ab'") == kept(spark, path, "s IS NOT NULL") == {"a"}
    falsify(spark, made, ("minmax", ("x",)), {"a": {"min": 1, "max": 2}})
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), ValueList("s"), NullCount("s")])


def test_the_dataset_has_changed_meanwhile(spark: SparkSession, path: str, collected: list[tuple[str, ...]]) -> None:
    """[MDS-C-24] New and deleted files are refreshed in the same commit."""
    made = index(spark, path, [MinMax("x")])
    write_once(spark, Path(path), SCHEMA, {"c": [(20, "ef")]})
    (Path(path) / "b.parquet").unlink()
    collected.clear()
    result = made.add([ValueList("s")])
    assert (result.added, result.removed, result.unchanged) == (1, 1, 1)
    assert sorted(collected) == [("minmax(x)", "valuelist(s)"), ("valuelist(s)",)]
    assert made.describe().commit == 2
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), ValueList("s")])


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_versions_and_partitions_stay(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """[MDS-C-24] [MDS-C-25]"""
    made, path = by_days(spark, tmp_path)
    made.drop()
    made.create([MinMax("x")], version=version)
    before = rows_of(made)
    made.add([ValueList("s"), BloomFilter("x")])
    assert made.describe().version == version
    assert kept(spark, path, "s = 's2' AND x < 22") == {"d2h1"}
    made.remove([ValueList("s"), BloomFilter("x", fpp=0.5)])
    assert made.describe().version == version
    assert rows_of(made) == before
    assert kept(spark, path, "x = 21") == {"d2h1"}


def test_chunks(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-24] Each chunk of files is joined with its own statistics."""
    made, path = by_days(spark, tmp_path)
    spark.conf.set("spark.xskip.build.chunkFiles", "2")
    seen: list[Any] = []
    made.add([MinMax("s")], progress=seen.append)
    assert [(p.chunk, p.chunks, p.files, p.total) for p in seen] == [(1, 3, 2, 6), (2, 3, 4, 6), (3, 3, 6, 6)]
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), ValueList("s"), MinMax("s")])


def test_unreadable_files(spark: SparkSession, path: str) -> None:
    """[MDS-C-24] A file that cannot be read stops the operation, or stays without metadata."""
    made = index(spark, path, [MinMax("x")])
    before, file = rows_of(made), Path(path) / "b.parquet"
    stat, data = file.stat(), file.read_bytes()
    file.write_bytes(b"\0" * len(data))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(CollectError, match=r"b\.parquet"):
        made.add([ValueList("s")])
    assert rows_of(made) == before
    result = made.add([ValueList("s")], on_error="skip")
    assert [Path(name).stem for name in result.failed] == ["b"]
    assert (result.added, result.removed, result.unchanged) == (0, 1, 1)
    assert made.status().missing == 1


def test_what_cannot_be_added(spark: SparkSession, path: str) -> None:
    """[MDS-C-24]"""
    with pytest.raises(MetadataNotFoundError):
        SkippingIndex.for_path(spark, path).add([MinMax("x")])
    made = index(spark, path, [MinMax("x")])
    before = rows_of(made)
    with pytest.raises(IndexExistsError, match=r"already has this index .*minmax\(x\).*remove\(\)"):
        made.add([ValueList("s"), MinMax("X")])
    with pytest.raises(IndexDefinitionError, match="list of indexes is empty"):
        made.add([])
    with pytest.raises(ArgumentError, match="put the index into a list"):
        made.add(MinMax("s"))  # type: ignore[arg-type]
    with pytest.raises(IndexDefinitionError, match="no such column"):
        made.add([MinMax("y")])
    assert rows_of(made) == before
    given_away(spark, made, [metadata(made)])
    with pytest.raises(IndexDefinitionError, match=r"another program has collected.*refresh\(\)"):
        made.add([ValueList("s")])


def test_removed_indexes_are_as_if_never_created(
    spark: SparkSession, path: str, collected: list[tuple[str, ...]]
) -> None:
    """[MDS-C-25]"""
    made = index(spark, path, [MinMax("x"), ValueList("s", max_values=7), Prefix("s"), NullCount("S")])
    collected.clear()
    result = made.remove([ValueList("S"), "NullCount(s)"])
    assert (result.removed, result.files, collected) == (("nullcount(s)", "valuelist(s)"), 2, [])
    assert [i.name for i in made.describe().indexes] == ["minmax", "prefix"]
    assert kept(spark, path, "s LIKE 'ab%'") == {"a"}
    assert kept(spark, path, "s IS NULL") == {"a", "b"}
    assert made.refresh().unchanged == 2
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), Prefix("s")])


def test_what_cannot_be_removed(spark: SparkSession, path: str) -> None:
    """[MDS-C-25] At least one index remains."""
    made = index(spark, path, [MinMax("x"), ValueList("s")])
    before = rows_of(made)
    with pytest.raises(IndexDefinitionError, match=r"found: minmax\(xx\); expected: one of minmax\(x\).*did you mean"):
        made.remove(["minmax(xx)"])
    with pytest.raises(IndexDefinitionError, match=r"no index would remain .*drop\(\)"):
        made.remove([MinMax("x"), ValueList("s")])
    with pytest.raises(IndexDefinitionError, match="list of indexes to remove is empty"):
        made.remove([])
    for wrong in ("minmax(x)", MinMax("x"), [MinMax], [1]):
        with pytest.raises(ArgumentError):
            made.remove(wrong)  # type: ignore[arg-type]
    assert rows_of(made) == before


def test_an_index_on_an_expression(spark: SparkSession, path: str) -> None:
    """[MDS-C-24] [MDS-C-25]"""
    made = index(spark, path, [MinMax("x")])
    made.add([ValueList("upper(s)", expression=True)])
    assert kept(spark, path, "upper(s) = 'CD'") == {"a"}
    assert made.remove([ValueList("upper(s)", expression=True)]).removed == ("valuelist(upper(s))",)


def test_keys_stay(spark: SparkSession, path: str) -> None:
    """[MDS-C-24] [MDS-C-25] The first encrypted index takes the footer key of the session."""
    keys = {"footer": bytes(16), "k1": bytes(range(16))}
    xskip.use_kms(LocalKms(keys))
    try:
        made = index(spark, path, [MinMax("x")])
        with pytest.raises(KeyNotAvailableError, match=r"encryption\.footer\.key"):
            made.add([ValueList("s", key_label="k1")])
        spark.conf.set("spark.xskip.encryption.footer.key", "footer")
        made.add([ValueList("s", key_label="k1")])
        spark.conf.unset("spark.xskip.encryption.footer.key")
        assert kept(spark, path, "s = 'ab'") == {"a"}
        made.add([NullCount("s")])
        made.remove([MinMax("x")])
        assert made.rotate_keys().labels == ("footer", "k1")
        assert [(i.name, i.bytes) for i in made.describe().indexes] == [("valuelist", None), ("nullcount", None)]
        xskip.use_kms(LocalKms({"footer": keys["footer"]}))
        for operation in (lambda: made.add([MinMax("x")]), lambda: made.remove([NullCount("s")])):
            with pytest.raises(KeyNotAvailableError):
                operation()
    finally:
        xskip.use_kms(None)


@pytest.mark.parametrize("operation", ["add", "remove"])
def test_against_another_writer(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, collected: list[tuple[str, ...]], operation: str
) -> None:
    """[MDS-C-19] [MDS-C-24] [MDS-C-25] The slower one retries, and collects no file twice."""
    made = index(spark, path, [MinMax("x"), ValueList("s")])
    other = SkippingIndex.for_path(spark, path)

    def change() -> None:
        write_once(spark, Path(path), SCHEMA, {"c": [(20, "ef")]})
        other.refresh()

    interrupt(monkeypatch, change)
    collected.clear()
    if operation == "add":
        made.add([NullCount("s")])
        assert collected.count(("nullcount(s)",)) == 3
        expected: list[Index] = [MinMax("x"), ValueList("s"), NullCount("s")]
    else:
        made.remove([ValueList("s")])
        expected = [MinMax("x")]
    monkeypatch.undo()
    assert made.status().up_to_date
    assert rows_of(made) == rows_of_new(spark, path, expected)


@pytest.mark.parametrize("operation", ["add", "remove"])
def test_against_a_drop(spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    """[MDS-C-19]"""
    made = index(spark, path, [MinMax("x"), ValueList("s")])
    interrupt(monkeypatch, SkippingIndex.for_path(spark, path).drop)
    with pytest.raises((IndexDroppedError, MetadataNotFoundError)):
        made.add([NullCount("s")]) if operation == "add" else made.remove([ValueList("s")])
    assert not made.exists()


def test_unknown_index_types_stay(spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-24] [MDS-C-25] The statistics of plugins that are not loaded are carried."""
    made = index(spark, path, [MinMax("x"), Prefix("s")])
    before = metadata(made).indexes["prefix", ("s",)].values
    with monkeypatch.context() as without:
        without.delitem(registry.BUILT_IN, "prefix")
        without.delitem(registry._TYPES, "prefix", raising=False)
        made.add([ValueList("s")])
        made.remove([MinMax("x")])
    after = metadata(made).indexes["prefix", ("s",)].values
    assert after.to_pylist() == before.to_pylist()
    assert kept(spark, path, "s LIKE 'ab%'") == {"a"}
