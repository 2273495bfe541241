"""Files are reached through Hadoop's file systems. Rules: specs/metadatastore.rst, [MDS-C-12].

A view file system stands for a remote one: its scheme is not ``file:``, and it needs no network.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.helpers import kept, write_files
from tests.metadatastore.filesystem_contract import CHECKS, Check
from tests.metadatastore.samples import commit, numbered_table, replace_all
from xskip import MinMax, SkippingIndex
from xskip.errors import CommitConflictError
from xskip.metadatastore.commit import find_live
from xskip.metadatastore.snapshot import open_snapshot
from xskip.spark.bridge.builds import BuildCalls
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.bridge.hadoop_filesystem import HadoopStorage, storage_for


@pytest.fixture
def mount(spark: SparkSession, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the URI of a view file system of one directory, and the directory."""
    name = f"v{uuid.uuid4().hex}"
    home = tmp_path / "mounted"
    home.mkdir()
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    key = f"fs.viewfs.mounttable.{name}.link./data"
    conf.set(key, f"file://{home}")
    yield f"viewfs://{name}/data", home
    conf.unset(key)


def hadoop(spark: SparkSession, uri: str) -> HadoopStorage:
    storage = storage_for(hook_of(spark), uri)
    assert isinstance(storage, HadoopStorage)
    return storage


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Check, spark: SparkSession, mount: tuple[str, Path], tmp_path: Path) -> None:
    """[MDS-C-12] The contract of storages holds here as on a local disk."""
    uri, home = mount
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    check(hadoop(spark, uri), f"{uri}/{uuid.uuid4().hex}", scratch)
    hidden = [p for p in home.rglob("*") if p.name.endswith(".tmp")]
    assert hidden == []


def test_commits(spark: SparkSession, mount: tuple[str, Path], tmp_path: Path) -> None:
    """[MDS-C-2] [MDS-C-3] [MDS-C-7] [MDS-C-9] Commits, conflicts and snapshots work as on a local disk."""
    uri, home = mount
    md, storage, scratch = f"{uri}/md ü", hadoop(spark, uri), tmp_path / "s"
    assert find_live(storage, md) is None
    commit(storage, md, scratch, [numbered_table(0, 2)])
    base = find_live(storage, md)
    first = open_snapshot(storage, md)
    assert first is not None
    replace_all(storage, md, scratch, [numbered_table(2, 4)])
    with pytest.raises(CommitConflictError):
        commit(storage, md, scratch, [numbered_table(4, 6)], base)
    assert len(list((home / "md ü").glob("*.parquet"))) == 1
    second = open_snapshot(storage, md, first)
    assert second is not None
    assert second.load().files.names.to_pylist() == ["/lake/events/f2", "/lake/events/f3"]
    # files were copied to a local disk: a snapshot outlives the commit that replaced it
    assert first.load().files.names.to_pylist() == ["/lake/events/f0", "/lake/events/f1"]


@pytest.fixture
def footers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list to which each request of the JVM for a footer adds whether it was read."""
    seen: list[bool] = []
    read = BuildCalls.footers

    def spy(self: BuildCalls, paths: Sequence[str], threads: int) -> list[bytes]:
        found = read(self, paths, threads)
        seen.extend(footer[-4:] == b"PAR1" for footer in found)
        return found

    monkeypatch.setattr(BuildCalls, "footers", spy)
    return seen


def test_end_to_end(spark: SparkSession, mount: tuple[str, Path], footers: list[bool]) -> None:
    """[MDS-C-12] [MDS-L-2] An index is created from footers, queried, refreshed and dropped."""
    uri, home = mount
    rows = {f"f{i}": [(10 * i + j, f"s{i}") for j in range(5)] for i in range(3)}
    write_files(spark, home / "events", "k int, s string", rows)
    path = f"{uri}/events"
    index = SkippingIndex.for_path(spark, path)
    created = index.create([MinMax("k"), MinMax("s")])
    assert (created.added, created.removed) == (3, 0)
    assert footers == [True] * 3
    (record,) = (home / "events/_xskip").glob("*/_commits/*.json")
    assert f'"root": "{path}"' in record.read_text()
    (file,) = (home / "events/_xskip").glob("*/*.parquet")
    stored = {r["obj_name"].partition("#")[0]: r["k_minmax_1"] for r in pq.read_table(file).to_pylist()}
    assert stored == {f"/data/events/f{i}.parquet": {"min": 10 * i, "max": 10 * i + 4} for i in range(3)}
    assert kept(spark, path, "k = 12") == {"f1"}
    assert kept(spark, path, "s >= 's1' and k < 20") == {"f1"}
    assert spark.read.parquet(path).filter("k = 12").count() == 1
    write_files(spark, home / "events", "k int, s string", {"f3": [(12, "s3")]})
    assert kept(spark, path, "k = 12") == {"f1", "f3"}
    assert index.refresh().added == 1
    (home / "events/f1.parquet").unlink()
    assert kept(spark, path, "k = 12 and s = 's3'") == {"f3"}
    assert index.refresh().removed == 1
    assert kept(spark, path, "k > 100") == set()
    assert index.describe().files == 3
    index.drop()
    assert not index.exists()
    assert kept(spark, path, "k = 12") == {"f0", "f2", "f3"}


def test_a_path_with_a_hash(spark: SparkSession, mount: tuple[str, Path]) -> None:
    """[MDS-O-3] [MDS-L-1] Python and the JVM look for an index in the same directory for any path."""
    uri, home = mount
    write_files(spark, home / "c#1", "k int", {"a": [(1,)], "b": [(2,)]})
    index = SkippingIndex.for_path(spark, f"{uri}/c#1")
    index.create([MinMax("k")])
    assert kept(spark, f"{uri}/c#1", "k = 2") == {"b"}
