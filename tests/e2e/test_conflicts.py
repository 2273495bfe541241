"""The slower of two writers on one index retries with the statistics that it has collected. Rules: [MDS-C-19]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.indexing.builder
import xskip.indexing.commit_attempts
import xskip.metadatastore.maintenance.rewrite
from tests.e2e.datasets import interrupt
from tests.helpers import by_days, kept, rows_of, write_once
from xskip import LocalKms, MinMax, SkippingIndex, ValueList
from xskip.errors import CommitConflictError, IndexDroppedError, KeyNotAvailableError
from xskip.metadatastore.commit_records import find_latest
from xskip.spark.collect.collector import Collector
from xskip.spark.query.spark_engine import forget_indexes

SCHEMA = "x int, s string"
KINDS = [MinMax("x"), ValueList("s")]


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each collection from data adds its number of files."""
    found: list[int] = []
    real = Collector.collect

    def noted(collector: Collector, chosen: Any) -> Any:
        found.extend([len(chosen)] if len(chosen) else [])
        return real(collector, chosen)

    monkeypatch.setattr(Collector, "collect", noted)
    return found


def flat(spark: SparkSession, root: Path) -> tuple[SkippingIndex, Path]:
    path = write_once(spark, root / "flat", SCHEMA, {"a": [(1, "a")], "b": [(2, "b")]})
    index = SkippingIndex.for_path(spark, path)
    index.create(KINDS)
    return index, Path(path)


def days(spark: SparkSession, root: Path) -> tuple[SkippingIndex, Path]:
    index, path = by_days(spark, root)
    return index, Path(path)


def add(spark: SparkSession, root: Path, name: str, value: int) -> None:
    directory = "day=2026-01-02/h=2/" if any(root.glob("day=*")) else ""
    write_once(spark, root, SCHEMA, {f"{directory}{name}": [(value, name)]})


def metadata_files_of(index: SkippingIndex) -> set[str]:
    return {name for name, _ in index.status().metadata_files}


def assert_as_new(index: SkippingIndex, kinds: Any = None) -> None:
    """Assert that the metadata equals that of a new index, and that the directory has no other files."""
    directory = Path(index.describe().location)
    assert {p.name for p in directory.glob("*.parquet")} == metadata_files_of(index)
    found = rows_of(index)
    index.drop()
    index.create(kinds or KINDS)
    assert found == rows_of(index)


@pytest.mark.parametrize("dataset", [flat, days])
def test_refresh_against_refresh(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    collected: list[int],
    dataset: Callable[[SparkSession, Path], tuple[SkippingIndex, Path]],
) -> None:
    """[MDS-C-19] Files that both collect are added once, later files are found, and none is collected twice."""
    index, root = dataset(spark, tmp_path)
    add(spark, root, "both", 100)
    other = SkippingIndex.for_path(spark, str(root))

    def add_and_refresh() -> None:
        add(spark, root, "late", 101)
        assert other.refresh().added == 2
        add(spark, root, "later", 102)

    interrupt(monkeypatch, add_and_refresh)
    collected.clear()
    result = index.refresh()
    assert (result.added, result.removed) == (1, 0)
    assert collected == [1, 2, 1]
    assert kept(spark, str(root), "x >= 100") == {"both", "late", "later"}
    assert_as_new(index)


@pytest.mark.parametrize("what", ["optimize", "migrate", "back and forth"])
def test_refresh_against_others(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: list[int], what: str
) -> None:
    """[MDS-C-19] The collected rows are written in the present form of the index, with their partitions."""
    index, root = days(spark, tmp_path)
    add(spark, root, "new1", 100)
    index.refresh()
    add(spark, root, "new2", 101)
    if what == "back and forth":
        index.migrate(3)
    others: dict[str, Callable[[], object]] = {
        "optimize": index.optimize,
        "migrate": lambda: index.migrate(2),
        "back and forth": lambda: index.migrate(4),
    }
    interrupt(monkeypatch, others[what])
    collected.clear()
    assert index.refresh().added == 1
    assert collected == [1]
    assert index.describe().version == (2 if what == "migrate" else 4)
    index.migrate(4)
    assert kept(spark, str(root), "x >= 100") == {"new1", "new2"}
    assert kept(spark, str(root), "day = '2026-01-02' and h = 2 and x > 100") == {"new2"}
    assert_as_new(index)


def test_version_0_is_collected_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: list[int]
) -> None:
    """[MDS-C-19] Rows of version 0 are collected again, because their form contains less."""
    index, root = flat(spark, tmp_path)
    write_once(spark, root, SCHEMA, {"new": [(None, None)]})
    index.migrate(0)
    interrupt(monkeypatch, lambda: index.migrate(4))
    collected.clear()
    assert index.refresh().added == 1
    assert collected == [1, 1]
    assert_as_new(index)


@pytest.mark.parametrize("what", ["optimize", "migrate", "migrate_all"])
def test_others_against_refresh(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """[MDS-C-19] The slower operation reads the winner's commit and rewrites it."""
    index, root = flat(spark, tmp_path)
    add(spark, root, "new1", 100)
    index.refresh()
    add(spark, root, "new2", 101)
    interrupt(monkeypatch, index.refresh)
    base = str(Path(index.describe().location).parent)
    works: dict[str, Callable[[], Any]] = {
        "optimize": index.optimize,
        "migrate": lambda: index.migrate(2),
        "migrate_all": lambda: xskip.migrate_all(spark, base, 2)[0],
    }
    assert works[what]().files == 4
    forget_indexes()
    assert len(metadata_files_of(index)) == (1 if what == "optimize" else 3)
    index.migrate(4)
    assert_as_new(index)


def test_a_removal_that_won_stays(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-19] Files that were removed or changed meanwhile are not committed."""
    index, root = flat(spark, tmp_path)
    add(spark, root, "new", 100)
    write_once(spark, tmp_path / "pool", SCHEMA, {"longer": [(7, "another"), (8, "text")]})

    def change() -> None:
        (root / "a.parquet").unlink()
        (tmp_path / "pool/longer.parquet").replace(root / "new.parquet")
        index.refresh()

    interrupt(monkeypatch, change)
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (0, 0, 2)
    assert kept(spark, str(root), "x = 100") == set()
    assert kept(spark, str(root), "x = 8") == {"new"}
    assert_as_new(index)


def test_a_drop_is_no_race(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-16] [MDS-C-19] A writer of a dropped index gets an error, with or without a new index."""
    index, root = flat(spark, tmp_path)
    for again in (False, True):
        add(spark, root, f"new {again}", 100)

        def drop(*, again: bool = again) -> None:
            index.drop()
            if again:
                index.create([MinMax("x")])

        interrupt(monkeypatch, drop)
        with pytest.raises(IndexDroppedError, match="was dropped"):
            index.refresh()
        assert index.exists() == again
        if not again:
            assert not list((root / "_xskip").rglob("*.parquet"))
            index.create(KINDS)
    assert [str(i) for i in index.describe().indexes if i.name != "minmax"] == []
    assert_as_new(index, [MinMax("x")])


def test_a_drop_after_a_lost_race(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-19] The loser checks the identity of the index before it retries."""
    index, root = flat(spark, tmp_path)
    add(spark, root, "new", 100)
    real = find_latest

    def late(*args: Any) -> Any:
        monkeypatch.setattr(xskip.indexing.commit_attempts, "find_latest", real)
        index.drop()
        index.create([MinMax("x")])
        return real(*args)

    monkeypatch.setattr(xskip.indexing.commit_attempts, "find_latest", late)
    interrupt(monkeypatch, index.refresh)
    with pytest.raises(IndexDroppedError):
        index.refresh()
    assert_as_new(index, [MinMax("x")])


def test_attempts_are_bounded(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-19] A writer that loses every race gets an error, and the index is complete."""
    index, root = flat(spark, tmp_path)
    index.migrate(3)
    versions = iter([4, 3] * 20)
    lost = [lambda: index.migrate(next(versions))] * 20
    add(spark, root, "new", 100)
    interrupt(monkeypatch, *lost)
    with pytest.raises(CommitConflictError, match="another writer") as caught:
        index.refresh()
    assert not isinstance(caught.value, IndexDroppedError)
    assert index.status().missing == 1
    assert {p.name for p in Path(index.describe().location).glob("*.parquet")} == metadata_files_of(index)


@pytest.fixture
def keyed(spark: SparkSession, tmp_path: Path) -> Iterator[SkippingIndex]:
    """Yield an index under a key, with a plaintext footer."""
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    spark.conf.set("spark.xskip.encryption.plaintext.footer", "true")
    xskip.use_kms(LocalKms(keys_of("k1")))
    path = write_once(spark, tmp_path / "keyed", SCHEMA, {"a": [(1, "a")], "b": [(2, "b")]})
    index = SkippingIndex.for_path(spark, path)
    index.create([MinMax("x", key_label="k1")])
    yield index
    xskip.use_kms(None)


def keys_of(*labels: str, last: bytes = b"!") -> dict[str, bytes]:
    return {"footer": b"the footer's key"} | {label: label.encode().ljust(16, last) for label in labels}


def test_refresh_against_rotation(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, keyed: SkippingIndex, collected: list[int]
) -> None:
    """[MDS-C-19] [ENC-R-2] The collected rows are written under the present labels."""
    add(spark, Path(keyed.name), "new", 100)
    xskip.use_kms(LocalKms(keys_of("k1", "k2")))
    interrupt(monkeypatch, lambda: keyed.rotate_keys({"k1": "k2"}))
    collected.clear()
    assert keyed.refresh().added == 1
    assert collected == [1]
    xskip.use_kms(LocalKms(keys_of("k2")))
    assert kept(spark, keyed.name, "x >= 100") == {"new"}
    assert kept(spark, keyed.name, "x < 2") == {"a"}


@pytest.mark.parametrize("what", ["refresh", "rotate", "optimize", "migrate"])
def test_another_key_under_the_same_label(spark: SparkSession, keyed: SkippingIndex, what: str) -> None:
    """[ENC-R-2] A master key that does not open the index writes nothing."""
    add(spark, Path(keyed.name), "new", 100)
    keyed.refresh()
    add(spark, Path(keyed.name), "newer", 101)
    directory = Path(keyed.describe().location)
    before = {p: p.read_bytes() for p in directory.rglob("*") if p.is_file()}
    xskip.use_kms(LocalKms(keys_of("k1", last=b"?")))
    calls: dict[str, Callable[[], object]] = {
        "refresh": keyed.refresh,
        "rotate": keyed.rotate_keys,
        "optimize": keyed.optimize,
        "migrate": lambda: keyed.migrate(3),
    }
    with pytest.raises(KeyNotAvailableError, match="k1"):
        calls[what]()
    assert {p: p.read_bytes() for p in directory.rglob("*") if p.is_file()} == before
    xskip.use_kms(LocalKms(keys_of("k1")))
    keyed.refresh()
    assert kept(spark, keyed.name, "x >= 100") == {"new", "newer"}
    assert kept(spark, keyed.name, "x < 2") == {"a"}
