"""Indexes of every version are built, refreshed, migrated and inspected, by the API and from a shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import assert_same_rows, given_away, kept, metadata, record_again, write_once
from tests.metadatastore.samples import rewrite
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.cli.main import main
from xskip.errors import DatasetError, MetadataVersionError, UnsupportedTypeError
from xskip.spark.query.spark_engine import engine_of

FILES: dict[str, list[tuple[Any, ...]]] = {
    "p=1/low": [(1, "a"), (9, "b")],
    "p=1/high": [(20, "c"), (29, None)],
    "p=2/other": [(5, "d")],
}
CASES = {
    "a = 25": {"high"},
    "s = 'a'": {"low"},
    "s IN ('b', 'd')": {"low", "other"},
    "p = 2 AND a < 9": {"other"},
}
EITHER = "p = 2 OR a > 100"  # needs the partition's value beside the bounds


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", "a int, s string", FILES)


def indexed(spark: SparkSession, path: str, version: int) -> SkippingIndex:
    made = SkippingIndex.for_path(spark, path)
    made.create([MinMax("a"), ValueList("s"), BloomFilter("s", fpp=1e-6)], version=version)
    return made


@pytest.mark.parametrize("version", range(5))
def test_an_index_of_every_version(spark: SparkSession, path: str, tmp_path: Path, version: int) -> None:
    """[MDS-V-1] [MDS-F-5] An index is built, used and refreshed in its version."""
    made = indexed(spark, path, version)
    described, status = made.describe(), made.status()
    assert described.version == version
    expected = {4: "CURRENT", 0: "DEPRECATED_UNSUPPORTED"}.get(version, "DEPRECATED_SUPPORTED")
    assert (status.version, status.up_to_date) == (expected, True)
    assert [v for _, v in status.metadata_files] == [version]
    for predicate, files in CASES.items():
        assert kept(spark, path, predicate) == files, predicate
        assert_same_rows(lambda p=predicate: spark.read.parquet(path).filter(p), spark)
    write_once(spark, Path(path), "a int, s string", {"p=3/new": [(7, "z")]})
    assert made.refresh().added == 1
    assert made.describe().version == version
    assert kept(spark, path, "s = 'z'") == {"new"}


@pytest.mark.parametrize(("before", "after"), [(1, 4), (3, 4), (4, 3), (4, 0), (0, 4)])
def test_migrate(spark: SparkSession, path: str, before: int, after: int) -> None:
    """[MDS-M-1] [MDS-M-2] Queries skip as before, and by partitions from version 4 on, without a read of the data."""
    made = indexed(spark, path, before)
    told = made.migrate(after, dry_run=True)
    assert made.describe().version == before
    done = made.migrate(after)
    assert (done.before, done.after, done.columns) == ((before,), after, told.columns)
    assert made.describe().partitions == (("p int",) if after == 4 else ())
    assert made.status().up_to_date
    for predicate, files in CASES.items():
        assert kept(spark, path, predicate) == files, predicate
    assert kept(spark, path, EITHER) == ({"other"} if after == 4 else {"low", "high", "other"})
    assert made.refresh().unchanged == 3


def test_versions_that_do_not_exist_or_lack_a_type(spark: SparkSession, path: str) -> None:
    """[MDS-V-3] [MDS-Z-5] Such versions are refused before anything is built."""
    made = SkippingIndex.for_path(spark, path)
    with pytest.raises(MetadataVersionError, match="version 5"):
        made.create([MinMax("a")], version=5)
    times = f"{path}-times"
    spark.sql("SELECT timestamp_ntz'2020-01-01 00:00:00' AS n").write.parquet(times)
    with pytest.raises(UnsupportedTypeError, match=r"timestamp_ntz.*use version 1 or newer"):
        SkippingIndex.for_path(spark, times).create([MinMax("n")], version=0)
    assert not made.exists()
    assert not SkippingIndex.for_path(spark, times).exists()


def test_status_of_a_newer_release(spark: SparkSession, path: str) -> None:
    """[MDS-V-2] [MDS-V-3] The version is TOO_NEW, and queries read all files and log the reason."""
    made = indexed(spark, path, 4)
    (file,) = Path(made.describe().location).glob("*.parquet")
    key = b"org.apache.spark.sql.parquet.row.metadata"
    rewrite(file, {key: pq.read_metadata(file).metadata[key].replace(b'"version":4', b'"version":9')})
    record_again(file.parent)
    engine_of(spark).forget_all()
    status = made.status()
    assert (status.version, status.metadata_files) == ("TOO_NEW", ((file.name, 9),))
    assert (status.indexed, status.missing) == (0, 3)
    assert "newer" in status.problem
    assert "9 (of a newer release)" in str(status)


def test_migrate_all_of_a_location_without_indexes_is_an_error(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        with pytest.raises(DatasetError, match=rf"the base location has no indexes .where: .*{name}; .*check the path"):
            xskip.migrate_all(spark, str(tmp_path / name))
    assert main(["migrate", str(tmp_path / "none"), "--all"]) == 2
    assert "there is no such directory (where: " in capsys.readouterr().err


def test_migrate_all(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-M-2] [MDS-M-3] [MDS-M-5] Every index under a location is migrated, or stays unchanged if this fails."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the session is of all tests
    base = str(tmp_path / "indexes")
    spark.conf.set("spark.xskip.metadata.location", base)
    made = []
    for name in ("one", "two"):
        path = write_once(spark, tmp_path / name, "a int, s string", FILES)
        made.append(indexed(spark, path, 3))
    given_away(spark, made[1], [metadata(made[1])], 3)
    broken = tmp_path / "indexes" / ("0" * 64)
    broken.mkdir()
    (broken / "part-x.parquet").write_bytes(b"none")
    (tmp_path / "indexes" / "empty").mkdir()
    results = {Path(r.location).name: r for r in xskip.migrate_all(spark, base, dry_run=True)}
    assert len(results) == 3
    assert [made[i].describe().version for i in (0, 1)] == [3, 3]
    assert main(["migrate", base, "--all", "--to", "4", "--output", "json"]) == 2
    told = {Path(r["location"]).name: r for r in json.loads(capsys.readouterr().out)}
    assert "damaged or incomplete" in told[broken.name]["problem"]
    assert [r["problem"] for name, r in told.items() if name != broken.name] == ["", ""]
    for each in made:
        assert (each.describe().version, each.describe().partitions) == (4, ("p int",))
        engine_of(spark).forget_all()
        assert kept(spark, each.name, EITHER) == {"other"}


def test_migrate_from_a_shell(
    spark: SparkSession, path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-M-4] The command prints the change of each column."""
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    indexed(spark, path, 1)
    assert main(["migrate", path, "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "1 -> 4" in text
    assert "a_minmax_1: renamed" in text
    assert "nothing was changed" in text
    assert main(["migrate", path, "--to", "2"]) == 0
    assert SkippingIndex.for_path(spark, path).describe().version == 2
    assert main(["migrate", path, "--to", "7"]) == 2
    assert "version 7" in capsys.readouterr().err
