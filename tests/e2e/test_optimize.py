"""Queries and users see compacted metadata as before. Rules: specs/metadatastore.rst, [MDS-C-14], [MDS-C-15]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.e2e.datasets import jobs
from tests.helpers import assert_same_rows, given_away, index, kept, metadata, spoiled, write_once
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.errors import IndexDefinitionError

SCHEMA = "a int, s string"


def rows(number: int) -> list[tuple[Any, ...]]:
    return [(10 * number, f"s{number}"), (10 * number + 5, None)]


#: The files whose rows a filter keeps; f6 has nothing but NULL.
CASES = {
    "a = 15": {"f1"},
    "a > 8 AND a < 32": {"f1", "f3"},
    "s = 's3'": {"f3"},
    "s IN ('s0', 's4') OR a = 10": {"f0", "f1", "f4"},
    "p = 1 AND a > 20": {"f3"},
    "p = 1 OR a = 0": {"f0", "f1", "f3"},
    "s = 'nowhere'": set(),
}


@pytest.fixture(params=["parquet", "avro"])
def fmt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def grown(spark: SparkSession, root: Path, fmt: str) -> SkippingIndex:
    """Return an index of five data files, each of which a separate commit has added."""
    path = write_once(spark, root, SCHEMA, {"p=0/f4": rows(4)}, fmt)
    made = index(spark, path, [MinMax("a"), ValueList("s"), BloomFilter("a", fpp=1e-6)], fmt)
    for name, some in {"p=1/f3": rows(3), "p=0/f0": rows(0), "p=0/f6": [(None, None)], "p=1/f1": rows(1)}.items():
        write_once(spark, root, SCHEMA, {name: some}, fmt)
        made.refresh()
    return made


def read(spark: SparkSession, location: str) -> list[tuple[str, Any, str]]:
    """Return, for each file, its name, its minimum and all its metadata, as Spark reads them."""
    found = spark.read.parquet(location).collect()
    return [(Path(row.obj_name.rpartition("#")[0]).stem, row.a_minmax_1.min, repr(row)) for row in found]


def test_life(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[MDS-C-14] [MDS-C-15] After compaction, queries skip the same files; it reads no data and runs no job."""
    made = grown(spark, tmp_path / "data", fmt)
    location = made.describe().location
    before = read(spark, location)
    for predicate, files in CASES.items():
        assert kept(spark, made.name, predicate, fmt) == files, predicate
    found = []
    with spoiled(Path(made.name).glob(f"p=*/*.{fmt}")):
        same = SkippingIndex.for_path(spark, made.name, format=fmt, schema=f"{SCHEMA}, p int")
        assert jobs(spark, lambda: found.append(same.optimize())) == 0
    (result,) = found
    described, status = made.describe(), made.status()
    assert (result.location, result.files) == (location, 5)
    assert (result.metadata_files_before, result.metadata_files_after) == (5, 1)
    assert result.bytes_before > result.bytes_after == described.metadata_bytes > 0
    assert result.seconds > 0
    assert (described.commit, described.files, described.partitions) == (6, 5, ("p int",))
    assert (len(status.metadata_files), status.up_to_date) == (1, True)
    after = read(spark, location)
    assert sorted(after) == sorted(before)
    assert [row[:2] for row in after] == [("f0", 0), ("f4", 40), ("f6", None), ("f1", 10), ("f3", 30)]
    for predicate, files in CASES.items():
        assert kept(spark, made.name, predicate, fmt) == files, predicate
        assert_same_rows(lambda p=predicate: spark.read.format(fmt).load(made.name).filter(p), spark)
    again = made.optimize()
    assert (again.metadata_files_before, again.metadata_files_after, again.bytes_before) == (1, 1, again.bytes_after)
    assert made.describe().commit == 6
    spark.conf.set("spark.xskip.metadata.rowsPerFile", "2")
    assert [made.optimize().metadata_files_after for _ in range(2)] == [3, 3]
    assert made.describe().commit == 7
    (Path(made.name) / f"p=1/f3.{fmt}").unlink()
    write_once(spark, Path(made.name), SCHEMA, {"p=0/f8": rows(8)}, fmt)
    refreshed = made.refresh()
    assert (refreshed.added, refreshed.removed, refreshed.unchanged) == (1, 1, 4)
    assert kept(spark, made.name, "a = 80", fmt) == {"f8"}
    assert kept(spark, made.name, "a = 35", fmt) == set()


@pytest.mark.parametrize("version", [0, 1, 4])
def test_metadata_of_another_program(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """[MDS-C-14] [MDS-F-1] [MDS-F-5] Queries use compacted metadata of another program as before."""
    path = write_once(spark, tmp_path / "data", SCHEMA, {f"f{number}": rows(number) for number in range(5)})
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("a"), ValueList("s"), BloomFilter("a", fpp=1e-6)], version=version)
    table = metadata(made)
    given_away(spark, made, [table.take(pa.array(some)) for some in ([4, 0], [1, 3], [2])], version)
    for _ in range(2):
        assert kept(spark, path, "a = 15") == {"f1"}
        assert kept(spark, path, "a > 8 AND a < 32") == {"f1", "f2", "f3"}
        assert kept(spark, path, "s = 's4'") == {"f4"}
        result = made.optimize()
        assert result.metadata_files_after == 1
    assert (made.describe().commit, made.describe().version) == (1, version)
    refreshed = made.refresh()
    assert (refreshed.added, refreshed.unchanged) == (5, 0)


def test_the_index_of_another_dataset(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-L-6] The index of another dataset is refused and stays unchanged."""
    paths = [write_once(spark, tmp_path / name, SCHEMA, {"x": rows(0)}) for name in ("one", "other")]
    made = index(spark, paths[0], [MinMax("a")])
    before = made.status().metadata_files
    with pytest.raises(IndexDefinitionError, match="another dataset"):
        SkippingIndex.for_path(spark, paths[1]).at(made.describe().location).optimize()
    assert made.status().metadata_files == before


def test_many_refreshes(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MDS-C-14] A refresh merges small files if there are many; a few small files wait for optimize()."""
    monkeypatch.setattr("xskip.indexing.kept_files._MAX_SMALL", 3)
    path = write_once(spark, tmp_path / "data", SCHEMA, {"f0": rows(0)})
    later = write_once(spark, tmp_path / "later", SCHEMA, {f"f{number}": rows(number) for number in range(1, 6)})
    made = index(spark, path, [MinMax("a")])
    counts = []
    for number in range(1, 6):
        (Path(later) / f"f{number}.parquet").rename(Path(path) / f"f{number}.parquet")
        made.refresh()
        counts.append(len(made.status().metadata_files))
    assert counts == [2, 3, 4, 2, 3]
    assert made.optimize().metadata_files_after == 1
    assert kept(spark, path, "a IN (0, 45)") == {"f0", "f4"}
