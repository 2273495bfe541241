"""One call after which a dataset has exactly the requested indexes, with all its files. Rules: [MDS-C-30]."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.indexing.builder
import xskip.metadatastore.maintenance.rewrite
from tests.e2e.datasets import interrupt, jobs, rows_of_new
from tests.falsified import falsify
from tests.helpers import by_days, index, kept, metadata, needs_spark_4, rows_of, write_once
from xskip import BloomFilter, Formatted, Index, LocalKms, MinMax, NullCount, Prefix, SkippingIndex, ValueList
from xskip.errors import ArgumentError, CollectError, IndexDefinitionError, KeyNotAvailableError
from xskip.indexes import registry

SCHEMA = "x int, s string"
FILES: dict[str, list[tuple[Any, ...]]] = {"a": [(1, "ab"), (2, "cd")], "b": [(10, None)]}


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", SCHEMA, FILES)


def defined(made: SkippingIndex) -> list[str]:
    return [f"{each.name}({', '.join(each.columns)})" for each in made.describe().indexes]


# --- what a call does ---------------------------------------------------------------------------------------------


def test_a_dataset_without_an_index(spark: SparkSession, path: str) -> None:
    """[MDS-C-30]"""
    made = SkippingIndex.for_path(spark, path)
    result = made.ensure([MinMax("x"), ValueList("s")])
    assert (result.created, result.changed, result.added, result.unchanged) == (True, True, 2, 0)
    assert (result.indexes_added, result.indexes_replaced) == (("minmax(x)", "valuelist(s)"), ())
    assert (made.describe().commit, [c.operation for c in made.history()]) == (1, ["create"])
    assert kept(spark, path, "x > 5") == {"b"}
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), ValueList("s")])


@pytest.mark.parametrize("partitioned", [False, True])
def test_nothing_is_done_twice(spark: SparkSession, tmp_path: Path, partitioned: bool) -> None:
    """[MDS-C-30] No Spark job, and no commit; a pattern that Spark has accepted is not tried again."""
    kinds = [MinMax("x"), Formatted("s", "([a-z]+)")]
    if partitioned:
        root = by_days(spark, tmp_path)[1]
        SkippingIndex.for_path(spark, root).drop()
    else:
        root = write_once(spark, tmp_path / "data", SCHEMA, FILES)
    made = SkippingIndex.for_path(spark, root)
    made.ensure(kinds)
    results: list[Any] = []
    assert jobs(spark, lambda: results.append(made.ensure(kinds))) == 0
    assert (results[0].changed, results[0].created, results[0].added, results[0].removed) == (False, False, 0, 0)
    assert made.describe().commit == 1
    assert jobs(spark, lambda: made.ensure([MinMax("X"), kinds[1]])) == 0  # Spark finds the column
    assert made.describe().commit == 1


def test_new_and_deleted_files(spark: SparkSession, path: str, collected: list[tuple[str, ...]]) -> None:
    """[MDS-C-30] The same indexes are refreshed."""
    made = index(spark, path, [MinMax("x"), ValueList("s")])
    write_once(spark, Path(path), SCHEMA, {"c": [(20, "ef")]})
    (Path(path) / "b.parquet").unlink()
    collected.clear()
    result = made.ensure([ValueList("s"), MinMax("x")])
    assert (result.added, result.removed, result.unchanged, result.changed) == (1, 1, 1, True)
    assert collected == [("valuelist(s)", "minmax(x)")]
    assert [c.operation for c in made.history()] == ["create", "refresh"]
    assert made.status().up_to_date
    assert kept(spark, path, "s = 'ef'") == kept(spark, path, "x > 15") == {"c"}


def test_indexes_are_added_replaced_and_removed_in_one_commit(
    spark: SparkSession, path: str, collected: list[tuple[str, ...]]
) -> None:
    """[MDS-C-30] Only what is missing is collected, and the others keep their statistics."""
    made = index(spark, path, [MinMax("x"), ValueList("s"), NullCount("s"), BloomFilter("x", ndv=10)])
    falsify(spark, made, ("minmax", ("x",)), {"a": {"min": 0, "max": 5}})
    write_once(spark, Path(path), SCHEMA, {"c": [(20, "ef")]})
    before = made.describe().commit
    collected.clear()
    result = made.ensure([MinMax("x"), BloomFilter("x", ndv=20), Prefix("s", length=2)])
    assert result.indexes_added == ("prefix(s)",)
    assert result.indexes_replaced == ("bloomfilter(x)",)
    assert result.indexes_removed == ("valuelist(s)", "nullcount(s)")
    assert (result.added, result.removed, result.unchanged) == (1, 0, 2)
    assert sorted(collected) == [
        *[("minmax(x)", "bloomfilter(x)", "prefix(s)")],
        *[("prefix(s)", "bloomfilter(x)")] * 2,
    ]
    assert made.describe().commit == before + 1
    assert [c.operation for c in made.history()][-1] == "ensure"
    assert metadata(made).indexes["minmax", ("x",)].values.to_pylist().count({"min": 0, "max": 5}) == 1
    falsify(spark, made, ("minmax", ("x",)), {"a": {"min": 1, "max": 2}})
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), BloomFilter("x", ndv=20), Prefix("s", length=2)])


def test_indexes_that_are_only_removed_read_no_data(
    spark: SparkSession, path: str, collected: list[tuple[str, ...]]
) -> None:
    """[MDS-C-30]"""
    made = index(spark, path, [MinMax("x"), ValueList("s")])
    collected.clear()
    result = made.ensure([MinMax("x")])
    assert (result.indexes_removed, result.unchanged, collected) == (("valuelist(s)",), 2, [])
    assert (defined(made), made.status().up_to_date) == (["minmax(x)"], True)
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x")])


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_the_version_of_an_index_stays(spark: SparkSession, path: str, version: int) -> None:
    """[MDS-C-30] Metadata of version 0 have no types of columns."""
    made = SkippingIndex.for_path(spark, path)
    kinds = [MinMax("x"), ValueList("s"), BloomFilter("x", ndv=10), Formatted("s", "a(b)", group=1), Prefix("s")]
    made.create(kinds, version=version)
    assert not made.ensure(kinds).changed
    made.ensure([MinMax("x"), BloomFilter("s")])
    assert (made.describe().version, defined(made)) == (version, ["minmax(x)", "bloomfilter(s)"])
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), BloomFilter("s")], version=version)


def test_the_costs_of_indexes_that_stay_are_kept(spark: SparkSession, path: str) -> None:
    """[MDS-C-29] [MDS-C-30]"""
    made = index(spark, path, [MinMax("x"), ValueList("s"), BloomFilter("x", ndv=10)])
    before = {each.name: each.seconds for each in made.describe().indexes}
    made.ensure([MinMax("x"), BloomFilter("x", ndv=20)])
    after = {each.name: each.seconds for each in made.describe().indexes}
    assert after["minmax"] == pytest.approx(before["minmax"])
    (record,) = [each for each in made.history() if each.operation == "ensure"]
    assert (record.added, record.removed) == (0, 0)


def test_a_dry_run(spark: SparkSession, path: str, collected: list[tuple[str, ...]]) -> None:
    """[MDS-C-30] It says what a call would do, and changes nothing."""
    made = SkippingIndex.for_path(spark, path)
    result = made.ensure([MinMax("x")], dry_run=True)
    assert (result.created, result.changed, result.added, result.dry_run) == (True, True, 2, True)
    assert (made.exists(), collected) == (False, [])
    made.ensure([MinMax("x")])
    assert not made.ensure([MinMax("x")], dry_run=True).changed
    (Path(path) / "b.parquet").unlink()
    write_once(spark, Path(path), SCHEMA, {"c": [(20, "ef")], "d": [(30, "gh")]})
    collected.clear()
    for kinds in ([MinMax("x")], [ValueList("s")]):
        result = made.ensure(kinds, dry_run=True)
        assert (result.added, result.removed, result.unchanged) == (2, 1, 1)
    assert (result.indexes_added, result.indexes_removed) == (("valuelist(s)",), ("minmax(x)",))
    assert "dry run" in str(result)
    assert (made.describe().commit, defined(made), collected) == (1, ["minmax(x)"], [])


def test_a_moved_dataset_keeps_its_statistics(spark: SparkSession, path: str, collected: list[tuple[str, ...]]) -> None:
    """[MDS-C-28] [MDS-C-30] Nothing is read again; the dry run says so and changes nothing."""
    SkippingIndex.for_path(spark, path).ensure([MinMax("x"), ValueList("s")])
    moved = shutil.move(path, f"{path}-moved")
    made = SkippingIndex.for_path(spark, moved)
    write_once(spark, Path(moved), SCHEMA, {"c": [(20, "ef")]})
    collected.clear()
    planned = made.ensure([MinMax("x")], dry_run=True)
    assert (planned.former.endswith(path), planned.created, planned.indexes_removed) == (True, False, ("valuelist(s)",))
    assert (planned.added, planned.removed, planned.unchanged, made.exists()) == (1, 0, 2, False)
    assert f"would adopt      the index of {planned.former}" in str(planned)
    result = made.ensure([MinMax("x")])
    assert (result.former, result.changed, result.created) == (planned.former, True, False)
    assert (result.added, result.removed, result.unchanged, result.indexes_added) == (1, 0, 2, ())
    assert collected == [("minmax(x)",)]
    assert kept(spark, moved, "x > 15") == {"c"}
    assert rows_of(made) == rows_of_new(spark, moved, [MinMax("x")])
    assert not made.ensure([MinMax("x")]).changed


@pytest.mark.parametrize("why", ["other times", "two former places"])
def test_an_index_that_cannot_be_adopted_is_built_anew(
    spark: SparkSession, path: str, collected: list[tuple[str, ...]], why: str
) -> None:
    """[MDS-C-28] [MDS-C-30]"""
    SkippingIndex.for_path(spark, path).ensure([MinMax("x")])
    if why == "two former places":
        path = shutil.move(path, f"{path}-between")
        SkippingIndex.for_path(spark, path).ensure([MinMax("x")])
    moved = shutil.copytree(path, f"{path}-moved")
    if why == "other times":
        for file in Path(moved).glob("*.parquet"):
            os.utime(file, (1, 1))
    collected.clear()
    made = SkippingIndex.for_path(spark, moved)
    result = made.ensure([MinMax("x")])
    assert (result.former, result.created, result.added) == ("", True, 2)
    assert len(collected) == 2
    assert kept(spark, moved, "x > 5") == {"b"}


# --- other states -------------------------------------------------------------------------------------------------


@needs_spark_4("reads no int of Parquet as bigint")
def test_a_column_of_another_type_is_collected_anew(spark: SparkSession, path: str) -> None:
    """[MDS-C-30] A refresh refuses it, because the index would hold bounds of two types."""
    made = index(spark, path, [MinMax("x"), ValueList("s")])
    other = SkippingIndex.for_path(spark, path, schema="x bigint, s string")
    with pytest.raises(IndexDefinitionError, match="another type"):
        other.refresh()
    result = other.ensure([MinMax("x"), ValueList("s")])
    assert result.indexes_replaced == ("minmax(x)",)
    assert [each.types for each in made.describe().indexes] == [("bigint",), ("string",)]


def test_a_dataset_that_is_read_in_another_way_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-30] A caller may have forgotten an option."""
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES, "csv")
    made = SkippingIndex.for_path(spark, path, format="csv", schema=SCHEMA, options={"nullValue": "x"})
    made.ensure([MinMax("x")])
    other = SkippingIndex.for_path(spark, path, format="csv", schema=SCHEMA)
    for kinds in ([MinMax("x")], [MinMax("x"), ValueList("s")]):
        with pytest.raises(IndexDefinitionError, match="read differently"):
            other.ensure(kinds)
    assert made.describe().commit == 1


def test_an_index_type_of_another_process_is_removed(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = index(spark, path, [MinMax("x"), Prefix("s")])
    monkeypatch.delitem(registry.BUILT_IN, "prefix")
    monkeypatch.delitem(registry._TYPES, "prefix", raising=False)
    result = made.ensure([MinMax("x")])
    assert (result.indexes_removed, defined(made)) == (("prefix(s)",), ["minmax(x)"])


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_a_file_that_cannot_be_read(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES, fmt)
    made = SkippingIndex.for_path(spark, path, format=fmt)
    made.ensure([MinMax("x")])
    (Path(path) / f"bad.{fmt}").write_bytes(b"damaged")
    with pytest.raises(CollectError):
        made.ensure([ValueList("s")])
    assert (defined(made), made.describe().commit) == (["minmax(x)"], 1)
    result = made.ensure([ValueList("s")], on_error="skip")
    assert ([Path(each).stem for each in result.failed], defined(made)) == (["bad"], ["valuelist(s)"])


def test_wrong_arguments(spark: SparkSession, path: str) -> None:
    made = SkippingIndex.for_path(spark, path)
    calls: list[Callable[[], object]] = [
        lambda: made.ensure("x"),  # type: ignore[arg-type]
        lambda: made.ensure([MinMax("x")], dry_run="no"),  # type: ignore[arg-type]
        lambda: made.ensure([MinMax("x")], on_error="ignore"),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(ArgumentError):
            call()
    for kinds in ([], [MinMax("y")], [MinMax("x"), MinMax("x")]):
        with pytest.raises(IndexDefinitionError):
            made.ensure(kinds)
    assert not made.exists()
    made.ensure([MinMax("x")])
    with pytest.raises(IndexDefinitionError):
        made.ensure([])
    assert defined(made) == ["minmax(x)"]


def test_keys_come_and_go(spark: SparkSession, path: str) -> None:
    """[MDS-C-30]"""
    xskip.use_kms(LocalKms({"k": b"0123456789abcdef", "f": b"fedcba9876543210"}))
    made = SkippingIndex.for_path(spark, path)
    made.ensure([MinMax("x"), ValueList("s")])
    keyed = [MinMax("x"), ValueList("s", key_label="k")]
    with pytest.raises(KeyNotAvailableError, match="the footer of the metadata has none"):
        made.ensure(keyed)
    spark.conf.set("spark.xskip.encryption.footer.key", "f")
    assert made.ensure(keyed).indexes_replaced == ("valuelist(s)",)
    files = list(Path(made.describe().location).glob("*.parquet"))
    assert {each.read_bytes()[:4] for each in files} == {b"PARE"}
    assert not made.ensure(keyed).changed
    assert kept(spark, path, "s = 'ab'") == {"a"}
    with pytest.raises(KeyNotAvailableError, match="the footer of the metadata has a key, but no index has one"):
        made.ensure([MinMax("x"), ValueList("s")])  # as create() does: somebody may have forgotten the key_label
    spark.conf.unset("spark.xskip.encryption.footer.key")
    assert made.ensure([MinMax("x"), ValueList("s")]).indexes_replaced == ("valuelist(s)",)
    files = list(Path(made.describe().location).glob("*.parquet"))
    assert {each.read_bytes()[:4] for each in files} == {b"PAR1"}


# --- several schedulers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, [ValueList("s")]], ids=["no index", "another index"])
def test_another_scheduler_was_first(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, collected: list[Any], before: list[Index] | None
) -> None:
    """[MDS-C-19] [MDS-C-30] The second one finds its work done."""
    made, other = (SkippingIndex.for_path(spark, path) for _ in range(2))
    if before:
        made.ensure(before)
    collected.clear()
    interrupt(monkeypatch, lambda: other.ensure([MinMax("x")]))
    result = made.ensure([MinMax("x")])
    assert (result.changed, result.created) == (False, False)
    assert (defined(made), made.describe().commit) == (["minmax(x)"], 2 if before else 1)
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x")])


def test_an_index_is_repaired_meanwhile(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, collected: list[tuple[str, ...]]
) -> None:
    """[MDS-C-19] The next attempt merges what it has collected with the repaired statistics."""
    made = SkippingIndex.for_path(spark, path)
    made.ensure([MinMax("x"), NullCount("s")])
    falsify(spark, made, ("minmax", ("x",)), {"a": {"min": 5, "max": 5}})
    interrupt(monkeypatch, SkippingIndex.for_path(spark, path).repair)
    collected.clear()
    made.ensure([MinMax("x"), NullCount("s"), ValueList("s")])
    assert collected.count(("valuelist(s)",)) == 2  # once for each file
    assert kept(spark, path, "x = 1") == {"a"}
    assert rows_of(made) == rows_of_new(spark, path, [MinMax("x"), NullCount("s"), ValueList("s")])


def test_schedulers_with_different_indexes(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, collected: list[tuple[str, ...]]
) -> None:
    """[MDS-C-30] The last one wins, and the metadata are those of its list."""
    made, other = (SkippingIndex.for_path(spark, path) for _ in range(2))
    interrupt(monkeypatch, lambda: other.ensure([ValueList("s")]))
    result = made.ensure([MinMax("x")])
    assert (result.indexes_added, result.indexes_removed) == (("minmax(x)",), ("valuelist(s)",))
    assert (defined(made), made.describe().commit) == (["minmax(x)"], 2)


def test_the_index_is_dropped_meanwhile(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch, collected: list[Any]
) -> None:
    """[MDS-C-30] The dataset has the indexes in any case."""
    made = SkippingIndex.for_path(spark, path)
    made.ensure([MinMax("x")])
    interrupt(monkeypatch, SkippingIndex.for_path(spark, path).drop)
    result = made.ensure([MinMax("x"), ValueList("s")])
    assert (result.created, defined(made)) == (True, ["minmax(x)", "valuelist(s)"])


def test_many_schedulers_at_once(spark: SparkSession, path: str) -> None:
    """[MDS-C-30] Queries find a usable index at any moment once it exists."""
    errors: list[BaseException] = []
    lists: list[list[Index]] = [[MinMax("x")], [MinMax("x"), ValueList("s")], [MinMax("x"), BloomFilter("s")]]
    SkippingIndex.for_path(spark, path).ensure(lists[0])

    def schedule(number: int) -> None:
        try:
            for turn in range(3):
                SkippingIndex.for_path(spark, path).ensure(lists[(number + turn) % len(lists)])
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            errors.append(error)

    threads = [threading.Thread(target=schedule, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):  # in strict mode, a query without a usable index fails
        assert spark.read.parquet(path).filter("x > 5").count() == 1
    assert errors == []
    made = SkippingIndex.for_path(spark, path)
    made.ensure(lists[1])
    assert rows_of(made) == rows_of_new(spark, path, lists[1])
