"""The history of an index, the removal of left-over files, and the adoption of indexes of moved datasets."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import by_days, given_away, index, kept, metadata, opened_files, record_again, rows_of, write_once
from xskip import LocalKms, MinMax, NullCount, PathBounds, SkippingIndex, ValueList
from xskip.errors import (
    ArgumentError,
    DatasetError,
    IndexDefinitionError,
    IndexExistsError,
    KeyNotAvailableError,
    MetadataNotFoundError,
)
from xskip.metadatastore.commit import new_file_name

SCHEMA = "x int, s string"
FILES: dict[str, list[tuple[int, str | None]]] = {"a": [(1, "ab"), (2, "cd")], "b": [(10, None)]}
DAY = 86_400


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", SCHEMA, FILES)


def at(spark: SparkSession, path: object, fmt: str = "parquet") -> SkippingIndex:
    return SkippingIndex.for_path(spark, str(path), format=fmt)


def aged(path: Path, seconds: int = 2 * DAY) -> Path:
    """Set the modification time of a file into the past."""
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def test_the_history_names_each_operation(spark: SparkSession, path: str) -> None:
    """[MDS-C-26]"""
    made = index(spark, path, [MinMax("x")])
    write_once(spark, Path(path), SCHEMA, {"c": [(20, "ef")]})
    (Path(path) / "b.parquet").unlink()
    made.refresh()
    made.add([ValueList("s"), NullCount("s")])
    made.remove(["nullcount(s)"])
    made.migrate(3)
    made.refresh()
    found = made.history()
    assert [(c.number, c.operation, c.added, c.removed, c.files, c.version) for c in found] == [
        (1, "create", 2, 0, 2, 4),
        (2, "refresh", 1, 1, 2, 4),
        (3, "add", 0, 0, 2, 4),
        (4, "remove", None, None, 2, 4),
        (5, "migrate", None, None, 2, 3),
    ]
    assert found.location == made.describe().location
    assert "remove         2" in str(found)
    assert "refresh        2      1        1 " in str(found)
    assert abs(found.commits[-1].time.timestamp() - time.time()) < 600
    assert found.commits[-1].bytes == made.describe().metadata_bytes
    assert len(found) == 5
    context = spark.sparkContext
    for each in found:
        assert (each.user, each.application) == (context.sparkUser(), f"xskip tests ({context.applicationId})")
        assert (each.xskip, each.spark) == (xskip.__version__, spark.version)
    assert "2  " in str(found)
    assert "<td>migrate</td>" in found._repr_html_()
    assert found.to_arrow().column("operation").to_pylist() == ["create", "refresh", "add", "remove", "migrate"]


def test_a_history_without_operations(spark: SparkSession, path: str) -> None:
    """[MDS-C-26] Records of an earlier xskip, and records with other values, have no operation."""
    made = index(spark, path, [MinMax("x")])
    directory = Path(made.describe().location)
    record_again(directory)
    (record,) = (directory / "_commits").glob("*.json")
    for value in (None, 7, {"name": 7}, {"name": "tidy", "added": "many"}):
        body = json.loads(record.read_text())
        record.write_text(json.dumps({**body, "operation": value}))
        (commit,) = made.history()
        assert (commit.operation, commit.added, commit.removed) == (
            "tidy" if isinstance(value, dict) and value["name"] == "tidy" else "", None, None,
        )  # fmt: skip
    record.write_text(json.dumps({**body, "operation": None}))
    assert "unknown" in str(made.history())


def test_a_history_needs_an_index(spark: SparkSession, path: str) -> None:
    """[MDS-C-26]"""
    with pytest.raises(MetadataNotFoundError):
        at(spark, path).history()


def test_what_crashed_writers_left_is_removed(spark: SparkSession, path: str) -> None:
    """[MDS-C-27] Only xskip's old files that no record lists, and old temporary files."""
    made = index(spark, path, [MinMax("x")])
    directory = Path(made.describe().location)
    (live,) = directory.glob("*.parquet")
    aged(live)
    lost, young = directory / new_file_name(1), directory / new_file_name(2)
    shutil.copy(live, lost)
    shutil.copy(live, young)
    half = directory / f"._{new_file_name(3)}.tmp"
    record = directory / "_commits" / "._00000000000000000009.json.tmp"
    other = directory / "notes.txt"
    for each in (half, record, other):
        each.write_bytes(b"12345")
        aged(each)
    aged(lost)
    planned = made.vacuum(dry_run=True)
    assert {Path(name) for name in planned.files} == {lost, half, record}
    assert (planned.directories, planned.kept, planned.bytes) == ((), (), lost.stat().st_size + 10)
    assert "would remove" in str(planned)
    assert lost.exists()
    removed = made.vacuum()
    assert (removed.files, removed.dry_run) == (planned.files, False)
    assert all(each.exists() for each in (live, young, other))
    assert not any(each.exists() for each in (lost, half, record))
    assert made.vacuum(older_than="0s").files == (str(young),)
    assert kept(spark, path, "x = 10") == {"b"}
    assert made.status().up_to_date
    for wrong in ("soon", 7, None, "-1d"):
        with pytest.raises(ArgumentError, match="older_than is not a time"):
            made.vacuum(older_than=wrong)  # type: ignore[arg-type]


def test_files_of_a_create_that_crashed(spark: SparkSession, path: str) -> None:
    """[MDS-C-27] Without a record there is no index, and its files are left over."""
    made = index(spark, path, [MinMax("x")])
    directory = Path(made.describe().location)
    (live,) = directory.glob("*.parquet")
    shutil.copy(live, directory.parent / "copy")
    made.drop()
    directory.mkdir(parents=True)
    lost = directory / new_file_name(0)
    shutil.move(directory.parent / "copy", lost)
    aged(lost)
    assert made.vacuum(older_than="3d").files == ()
    assert made.vacuum().files == (str(lost),)
    assert not lost.exists()


def test_metadata_of_another_program_stay(spark: SparkSession, path: str) -> None:
    """[MDS-C-27]"""
    made = index(spark, path, [MinMax("x")])
    given_away(spark, made, [metadata(made)])
    for file in Path(made.describe().location).glob("*"):
        aged(file)
    assert made.vacuum().files == ()


def test_a_moved_dataset_is_adopted(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-28] Queries on the new place skip, and the former index is left until a vacuum."""
    made, path = by_days(spark, tmp_path)
    expected = [row.replace(path, f"{tmp_path}/moved") for row in rows_of(made)]
    former = Path(made.describe().location)
    moved = shutil.move(path, tmp_path / "moved")
    now = at(spark, moved)
    assert not now.exists()
    for operation in (now.status, now.describe, now.refresh, now.optimize, lambda: now.files("x = 1")):
        with pytest.raises(
            MetadataNotFoundError, match=r"one of another path .*call adopt\(\) if the dataset was moved"
        ):
            operation()
    with pytest.raises(MetadataNotFoundError, match="one of another path"):
        xskip.open_index(str(moved))
    checks = {check.advice for check in xskip.doctor(spark, str(moved)) if check.name == "index"}
    assert checks == {"call adopt() if the dataset was moved or copied, or create([...])"}
    result = now.adopt()
    assert (result.former, result.adopted, result.changed, result.missing) == (path, 6, 0, 0)
    assert sorted(rows_of(now)) == sorted(expected)
    assert (now.status().up_to_date, now.refresh().unchanged) == (True, 6)
    assert opened_files(spark.read.parquet(str(moved)).filter("x = 21")) == {"d2h1"}
    assert [(c.operation, c.added) for c in now.history()] == [("adopt", 6)]
    with pytest.raises(IndexExistsError, match=r"drop\(\)"):
        now.adopt()
    left = Path(moved) / former.relative_to(path)
    assert now.vacuum().kept == (str(left),), "the index is younger than a day"
    assert now.vacuum(older_than="0s").directories == (str(left),)
    assert not left.exists()
    assert opened_files(spark.read.parquet(str(moved)).filter("x = 22")) == {"d2h2"}


def test_a_copy_without_times_is_not_adopted(spark: SparkSession, path: str, tmp_path: Path) -> None:
    index(spark, path, [MinMax("x")])
    copied = Path(shutil.copytree(path, tmp_path / "copy"))
    for file in copied.glob("*.parquet"):
        os.utime(file, (1_600_000_000, 1_600_000_000))
    with pytest.raises(DatasetError, match=r"no file is as the former index .*; copy the files with their times"):
        at(spark, copied).adopt()
    assert not at(spark, copied).exists()


def test_a_copy_is_adopted(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[MDS-C-28] [MDS-C-27] Changed files lose their statistics; an index of a place that exists stays."""
    index(spark, path, [MinMax("x"), PathBounds("x", "{x}")])
    copied = Path(shutil.copytree(path, tmp_path / "copy"))  # keeps the times
    os.utime(copied / "a.parquet", (1_600_000_000, 1_600_000_000))
    now = at(spark, copied)
    result = now.adopt()
    assert (result.adopted, result.changed, result.missing) == (1, 1, 1)
    assert "call refresh()" in str(result)
    assert kept(spark, str(copied), "x = 2") == {"a"}
    assert now.refresh().added == 1
    assert kept(spark, str(copied), "x = 2") == {"a"}
    assert len(now.vacuum(older_than="0s").kept) == 1
    assert at(spark, path).status().up_to_date


def test_statistics_of_paths_follow_the_new_names(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-C-28]"""
    path = write_once(spark, tmp_path / "day=1" / "data", "ts bigint, v int", {"ts_1_5": [(1, 1)], "ts_6_9": [(7, 1)]})
    index(spark, path, [PathBounds("ts", "ts_{ts:min}_{ts:max}"), MinMax("v")])
    moved = shutil.move(path, tmp_path / "other")
    now = at(spark, moved)
    assert now.adopt().adopted == 2
    assert now.validate().wrong == ()
    assert kept(spark, str(moved), "ts = 3") == {"ts_1_5"}


def test_an_index_below_a_base_location(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[MDS-C-28] The former path names the index."""
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "md"))
    index(spark, path, [MinMax("x")])
    moved = shutil.move(path, tmp_path / "moved")
    now = at(spark, moved)
    with pytest.raises(MetadataNotFoundError, match="pass the former path"):
        now.adopt()
    assert now.adopt(path).adopted == 2
    assert kept(spark, str(moved), "x = 10") == {"b"}
    assert now.vacuum(older_than="0s").directories == ()


def test_what_cannot_be_adopted(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[MDS-C-28]"""
    with pytest.raises(MetadataNotFoundError, match="no index to adopt"):
        at(spark, path).adopt()
    index(spark, path, [MinMax("x")])
    one = shutil.move(path, tmp_path / "one")
    two = Path(shutil.copytree(one, tmp_path / "two"))
    at(spark, one).adopt()
    shutil.copytree(Path(one) / "_xskip", two / "_xskip", dirs_exist_ok=True)
    with pytest.raises(IndexDefinitionError, match=r"several indexes to adopt .*data, .*one"):
        at(spark, two).adopt()
    with pytest.raises(IndexDefinitionError, match="another type than when it was indexed"):
        SkippingIndex.for_path(spark, str(two), schema="x bigint, s string").adopt(path)
    with pytest.raises(ArgumentError, match="former is not a text"):
        at(spark, two).adopt(7)  # type: ignore[arg-type]
    assert not at(spark, two).exists()
    assert at(spark, two).adopt(str(one)).adopted == 2


def test_keys(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[MDS-C-28] The labels stay, and without a key nothing happens."""
    keys = {"footer": bytes(16), "k1": bytes(range(16))}
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    try:
        xskip.use_kms(LocalKms(keys))
        index(spark, path, [MinMax("x"), ValueList("s", key_label="k1")])
        now = at(spark, shutil.move(path, tmp_path / "moved"))
        xskip.use_kms(LocalKms({"footer": keys["footer"]}))
        with pytest.raises(KeyNotAvailableError):
            now.adopt()
        assert not now.exists()
        xskip.use_kms(LocalKms(keys))
        assert now.adopt().adopted == 2
        assert now.rotate_keys().labels == ("footer", "k1")
        assert kept(spark, now.name, "s = 'ab'") == {"a"}
    finally:
        xskip.use_kms(None)
