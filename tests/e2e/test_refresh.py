"""A refresh of a dataset on a local disk misses no file, and lets Spark list few directories. Rules: [PRU-TL-6]."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.helpers import by_days, kept, listed, opened_files, rows_of, write_files, write_once
from xskip import MinMax, SkippingIndex, ValueList
from xskip.errors import DatasetError, IndexDefinitionError
from xskip.indexing.refresh import Refresh

SCHEMA = "x int, s string"
KINDS = [MinMax("x"), ValueList("s")]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each refresh adds "part", or "all" if Spark listed the whole dataset."""
    found: list[str] = []
    real = Refresh._prepared

    def noted(refresh: Refresh, known: Any) -> Any:
        found.append("all" if known is None else "part")
        return real(refresh, known)

    monkeypatch.setattr(Refresh, "_prepared", noted)
    return found


def dataset(spark: SparkSession, root: Path, fmt: str = "parquet") -> tuple[SkippingIndex, Path]:
    index, path = by_days(spark, root, fmt)
    return index, Path(path)


def below(root: Path, paths: list[str]) -> list[str]:
    """Return the listed paths below the root, with single files reduced to their extensions."""
    found = [path.removeprefix("file:").removeprefix(str(root)).strip("/") for path in paths]
    return [path if path.rpartition("/")[2].count(".") == 0 else "*." + path.rpartition(".")[2] for path in found]


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_only_changed_directories_are_listed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fmt: str
) -> None:
    index, root = dataset(spark, tmp_path, fmt)
    paths = listed(monkeypatch)
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (0, 0, 6)
    assert set(below(root, paths)) == {f"*.{fmt}"}
    write_once(spark, root, SCHEMA, {"day=2026-01-01/h=2/new": [(99, "n")], "day=2026-01-02/h=7/a": [(98, "n")]}, fmt)
    shutil.rmtree(root / "day=2026-01-03/h=1")
    paths.clear()
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (2, 1, 5)
    assert set(below(root, paths)) == {"day=2026-01-01/h=2", "day=2026-01-02/h=7"}
    assert kept(spark, str(root), "x > 90", fmt) == {"new", "a"}
    assert kept(spark, str(root), "s = 's3'", fmt) == {"d3h2"}


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_changes_the_index_is_as_if_made_anew(
    spark: SparkSession, tmp_path: Path, compared: list[str], seed: int
) -> None:
    """After random changes of files and directories, a refresh gives the metadata of a new index."""
    chance = random.Random(seed)
    index, root = dataset(spark, tmp_path, "avro")
    write_once(spark, tmp_path / "pool", SCHEMA, {f"p{i}": [(i, f"p{i}")] for i in range(9)}, "avro")
    pool = sorted((tmp_path / "pool").glob("*.avro"))
    for step in range(6):
        for number in range(1 + step % 3):
            change(chance, root, pool[chance.randrange(len(pool))], f"{step}-{number}")
        index.refresh()
        refreshed = rows_of(index)
        assert index.refresh().added == 0
        index.drop()
        index.create(KINDS)
        assert refreshed == rows_of(index), step
    assert compared.count("part") > 8


def change(chance: random.Random, root: Path, source: Path, name: str) -> None:
    """Make a random change of a dataset: add, remove, replace or move a file, or remove a directory."""
    files = sorted(root.glob("day=*/h=*/*.avro"))
    file = chance.choice(files)
    match chance.randrange(6):
        case 0:
            shutil.copy(source, file.with_name(f"{name}.avro"))
        case 1:
            directory = root / f"day=2026-01-0{chance.randrange(1, 6)}/h={chance.randrange(4)}"
            directory.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, directory / f"{name}.avro")
        case 2:
            shutil.copy(source, file)
        case 3 if len(files) > 3:
            file.unlink()
        case 4 if len(files) > 3:
            file.rename(file.with_name(f"{name}.avro"))
        case _ if len({each.parent for each in files}) > 2:
            shutil.rmtree(file.parent)


def test_where_spark_lists_the_dataset(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark lists the dataset without partitions, with options that choose files, and after many changes."""
    flat = Path(write_once(spark, tmp_path / "flat", SCHEMA, {"a": [(1, "a")], "b": [(2, "b")]}))
    index = SkippingIndex.for_path(spark, str(flat))
    index.create(KINDS)
    paths = listed(monkeypatch)
    assert index.refresh().unchanged == 2
    assert "" not in below(flat, paths)
    write_once(spark, flat, SCHEMA, {"c": [(3, "c")]})
    assert index.refresh().added == 1
    assert "" in below(flat, paths)
    index, root = dataset(spark, tmp_path)
    write_once(spark, root, SCHEMA, {f"day=2026-01-0{d}/h=1/new{d}": [(99, "n")] for d in (1, 2, 3)}, "parquet")
    (root / "day=2026-01-01/h=2/d1h2.parquet").unlink()
    paths.clear()
    assert index.refresh().added == 3
    assert "" in below(root, paths)
    paths.clear()
    chosen = SkippingIndex.for_path(spark, str(root), options={"pathGlobFilter": "d*"})
    assert chosen.refresh().removed == 3
    assert "" in below(root, paths)


def test_what_spark_says_of_the_whole_counts(spark: SparkSession, tmp_path: Path, compared: list[str]) -> None:
    """Conflicting partitions and schemas are refused as in a complete listing, and nothing is lost."""
    index, root = dataset(spark, tmp_path)
    before = rows_of(index)
    write_files(spark, root, SCHEMA, {"day=2026-01-02/odd": [(7, "o")]})
    with pytest.raises(DatasetError, match="cannot read the dataset"):
        index.refresh()
    (root / "day=2026-01-02/odd.parquet").unlink()
    assert rows_of(index) == before
    as_text = SkippingIndex.for_path(spark, str(root), schema="x string, s string, day date, h int")
    with pytest.raises(IndexDefinitionError, match="another type"):
        as_text.refresh()
    assert rows_of(index) == before
    assert compared == ["all", "part", "all"]


@pytest.mark.parametrize(
    ("values", "new", "part"),
    [
        (["2026-01-01", "2026-01-02"], "2026-01-03", True),
        (["2026-01-01", "2026-01-02"], "2026", False),
        (["2026-01-01", "2026-01-02"], "never", False),
        (["2026-01-01", "2026-01-02"], "__HIVE_DEFAULT_PARTITION__", True),
        (["1.5", "2.5"], "3.5", True),
        (["1.5", "2.5"], "12345678901", False),
        (["1", "2"], "12345678901", False),
        (["a", "b"], "c", True),
        (["a", "b"], "7", True),
        (["2026-01-01 10%3A00%3A00", "2026-01-01 11%3A00%3A00"], "2026-01-01 12%3A00%3A00", True),
        (["[x]", "x"], "[xyz]", True),
        (["a%2Fb c=", "ü"], "{ä,b}?*", True),
    ],
)
def test_values_of_partitions(
    spark: SparkSession, tmp_path: Path, compared: list[str], values: list[str], new: str, *, part: bool
) -> None:
    """Partition values have the common type of all values, and directory names are not patterns."""
    files = {f"p={value}/f{i}{j}": [(10 * i + j, "s")] for i, value in enumerate(values) for j in range(3)}
    root = Path(write_once(spark, tmp_path / "lake", SCHEMA, files, "avro"))
    index = SkippingIndex.for_path(spark, str(root), format="avro")
    index.create(KINDS)
    write_once(spark, root, SCHEMA, {f"p={new}/new": [(99, "n")], f"p={values[0]}/more": [(98, "n")]}, "avro")
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (2, 0, 6)
    assert compared == (["part"] if part else ["part", "all"])
    if not part:
        with pytest.raises(IndexDefinitionError, match="differ from file to file"):
            index.read(trust_listing=True)
        return
    refreshed = rows_of(index)
    assert opened_files(index.read(trust_listing=True)) == opened_files(index.read())
    index.drop()
    index.create(KINDS)
    assert refreshed == rows_of(index)


def log_of_a_stream(root: Path) -> None:
    """Write the log of a stream with the present files below a directory."""
    log = root / "_spark_metadata"
    log.mkdir()
    entries = [
        {"path": f"file://{file}", "size": file.stat().st_size, "isDir": False, "action": "add", "blockReplication": 1,
         "modificationTime": int(file.stat().st_mtime * 1000), "blockSize": 1 << 25}
        for file in sorted(root.rglob("*.parquet"))
        if "_xskip" not in file.parts
    ]  # fmt: skip
    (log / "0").write_text("\n".join(["v1", *map(json.dumps, entries)]))


def test_the_log_of_a_stream(spark: SparkSession, tmp_path: Path, compared: list[str]) -> None:
    """Files that a stream has not committed do not count, wherever they are."""
    index, root = dataset(spark, tmp_path)
    log_of_a_stream(root)
    write_once(spark, root, SCHEMA, {"day=2026-01-02/h=1/uncommitted": [(99, "n")]})
    with pytest.raises(DatasetError, match="the file log of a streaming query"):
        index.read(trust_listing=True)
    assert index.refresh().added == 0
    assert compared == ["all"]


def test_the_log_of_a_stream_in_a_partition(spark: SparkSession, tmp_path: Path, compared: list[str]) -> None:
    """A query that lists the dataset ignores the log in a partition, so that all files count."""
    index, root = dataset(spark, tmp_path)
    for directory in ("day=2026-01-03/h=1", "day=2026-01-03"):
        log_of_a_stream(root / directory)
    write_once(spark, root, SCHEMA, {"day=2026-01-03/h=1/late": [(99, "n")]})
    with pytest.raises(DatasetError, match=r"the file log of a streaming query.*day=2026-01-03"):
        index.read(trust_listing=True)
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (1, 0, 6)
    assert compared == ["part", "all"]
    assert kept(spark, str(root), "x = 99") == {"late"}


def test_directories_of_hidden_names_that_hold_data(spark: SparkSession, tmp_path: Path, compared: list[str]) -> None:
    """Spark reads directories whose names begin like Parquet's summary files."""
    index, root = dataset(spark, tmp_path)
    write_once(spark, root, SCHEMA, {"day=2026-01-02/h=1/_metadata_x/deep": [(99, "n")]})
    (root / "day=2026-01-02/h=1/copied.parquet._COPYING_").write_text("half")
    assert index.refresh().added == 1
    assert "all" not in compared
    assert kept(spark, str(root), "x = 99") == {"deep"}
    assert index.refresh().added == 0


def test_a_time_that_cannot_be_told(spark: SparkSession, tmp_path: Path, compared: list[str]) -> None:
    """If files cannot be compared, Spark lists the whole dataset."""
    index, root = dataset(spark, tmp_path)
    write_once(spark, root, SCHEMA, {"day=2026-01-02/h=1/new": [(99, "n")]})
    os.utime(root / "day=2026-01-02/h=1/d2h1.parquet", ns=(-1, -1))
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (2, 1, 5)
    assert compared == ["all"]


@pytest.mark.parametrize("schema", [None, "x int, s string"])
def test_the_users_session_stays_the_active_one(spark: SparkSession, tmp_path: Path, schema: str | None) -> None:
    _, root = dataset(spark, tmp_path)
    given = SkippingIndex.for_path(spark, str(root), schema=schema)
    jvm: Any = spark._jvm
    active = jvm.SparkSession.getActiveSession().get()
    assert given.refresh().added == 0
    assert given.read(trust_listing=True).count() == 6
    assert jvm.SparkSession.getActiveSession().get().equals(active)


def test_files_that_came_while_others_were_looked_at(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a listed directory is missing by the time of Spark's listing, Spark lists the whole dataset."""
    from xskip.indexing.indexed_listing import IndexedListing

    index, root = dataset(spark, tmp_path)
    write_once(spark, root, SCHEMA, {"day=2026-01-04/h=1/new": [(99, "n")]})
    real = IndexedListing.read_changed

    def late(found: IndexedListing, session: SparkSession) -> object:
        shutil.rmtree(root / "day=2026-01-04")
        return real(found, session)

    monkeypatch.setattr(IndexedListing, "read_changed", late)
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (0, 0, 6)
    os.utime(root / "day=2026-01-01/h=1/d1h1.parquet", (1, 1))
    monkeypatch.setattr(IndexedListing, "read_changed", real)
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (1, 1, 5)
