"""A refresh of a dataset on a local disk: what Spark lists, and that nothing is missed. Rules: [PRU-TL-6]."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.helpers import kept, listed, rows_of, write_files, write_once
from xskip import MinMax, SkippingIndex, ValueList
from xskip.errors import DatasetError, IndexDefinitionError

SCHEMA = "x int, s string"
DAYS = {f"day=2026-01-0{d}/h={h}/d{d}h{h}": [(10 * d + h, f"s{d}")] for d in (1, 2, 3) for h in (1, 2)}
KINDS = [MinMax("x"), ValueList("s")]


def dataset(spark: SparkSession, root: Path, fmt: str = "parquet") -> tuple[SkippingIndex, Path]:
    path = write_once(spark, root / "lake", SCHEMA, DAYS, fmt)
    index = SkippingIndex.for_path(spark, path, format=fmt)
    index.create(KINDS)
    return index, Path(path)


def below(root: Path, paths: list[str]) -> list[str]:
    """What was read of the dataset: the directory itself is empty, and single files are told by their endings alone."""
    found = [path.removeprefix("file:").removeprefix(str(root)).strip("/") for path in paths]
    return [path if path.rpartition("/")[2].count(".") == 0 else "*." + path.rpartition(".")[2] for path in found]


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_only_what_has_changed_is_listed(
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
    assert set(below(root, paths)) == {"day=2026-01-01/h=2", "day=2026-01-02/h=7", f"*.{fmt}"}
    assert kept(spark, str(root), "x > 90", fmt) == {"new", "a"}
    assert kept(spark, str(root), "s = 's3'", fmt) == {"d3h2"}


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_changes_the_index_is_as_if_made_anew(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Files and directories come, go and change; after each refresh the metadata are those of a new index."""
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


def change(chance: random.Random, root: Path, source: Path, name: str) -> None:
    """One change of a dataset: a file more or less, another under its name, one that moves, a directory less."""
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
    """Where its listing alone can tell: without partitions, with options that choose, after much change."""
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


def test_what_spark_says_of_the_whole_counts(spark: SparkSession, tmp_path: Path) -> None:
    """Partitions and schemas that do not go together are refused as where all is listed; nothing is lost."""
    index, root = dataset(spark, tmp_path)
    before = rows_of(index)
    write_files(spark, root, SCHEMA, {"day=2026-01-02/odd": [(7, "o")]})
    with pytest.raises(DatasetError, match="cannot be read"):
        index.refresh()
    (root / "day=2026-01-02/odd.parquet").unlink()
    write_files(spark, root, SCHEMA, {"day=never/h=1/odd": [(7, "o")]})
    result = index.refresh()
    assert (result.added, result.unchanged) == (1, 6)
    assert dict(index.read().dtypes)["day"] == "string"
    assert kept(spark, str(root), "x = 7") == {"odd"}
    index.drop()
    index.create(KINDS)
    as_text = SkippingIndex.for_path(spark, str(root), schema="x string, s string, day string, h int")
    with pytest.raises(IndexDefinitionError, match="another type"):
        as_text.refresh()
    assert index.status().missing == 0
    assert len(before) == 6


def test_files_that_came_while_others_were_looked_at(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark lists counts: a directory that is gone by then has the dataset listed."""
    from xskip.trusted import Trust

    index, root = dataset(spark, tmp_path)
    write_once(spark, root, SCHEMA, {"day=2026-01-04/h=1/new": [(99, "n")]})
    real = Trust.read_changed

    def late(found: Trust, session: SparkSession) -> object:
        shutil.rmtree(root / "day=2026-01-04")
        return real(found, session)

    monkeypatch.setattr(Trust, "read_changed", late)
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (0, 0, 6)
    os.utime(root / "day=2026-01-01/h=1/d1h1.parquet", (1, 1))
    monkeypatch.setattr(Trust, "read_changed", real)
    result = index.refresh()
    assert (result.added, result.removed, result.unchanged) == (1, 1, 5)
